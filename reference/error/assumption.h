// What an improbable error says: which assumption of the probable bound it has most likely broken.
#pragma once

#include <string_view>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof {

/// Literals: `key` for programs ([a-z_]), `text` completes "most likely broken: ...".
struct Assumption {
  std::string_view key;
  std::string_view text;
};

/// Of an element whose error lies between the probable and the deterministic bound. Rule: a part of the bound *can*
/// explain the error if error <= probable + part, that is, if this part at its deterministic value beside a probable
/// rest is enough. The largest part that can is blamed; where none can alone, the largest. Which assumption that part
/// rests on follows from the arithmetic (README.md has the table).
Assumption likely_broken(const Arithmetic& arithmetic, const ElementBound& bound, double error);

}  // namespace flashproof
