// Presets by name, for kernels that this project did not write (arithmetic_json.h has the door).
#pragma once

#include <string_view>

#include "reference/bound/declare/arithmetic_json.h"

namespace flashproof::bound {

/// Throws UsageError for a name that is none, with near matches, and for a format that the kernel does not take.
Arithmetic named_preset(std::string_view name, ProblemKind problem, Format inputs);

}  // namespace flashproof::bound
