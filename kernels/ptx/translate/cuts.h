// Long straight code in pieces.
#pragma once

#include <cstddef>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// Instructions that a block of code has at most, about: a block becomes a function, and LLVM's time grows faster than a function.
inline constexpr std::size_t kMostStraight = 300;

/// A label wherever so many instructions stand without one.
void cut_long_code(Entry& entry);

}  // namespace flashproof::ptx
