// RapidCheck looks for a case that fails and shrinks it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/registry.h"
#include "properties/generators/family.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Search {
  std::uint64_t seed = 1;   // of RapidCheck: the same search finds the same case
  std::uint64_t cases = 6;  // drawn, until one fails
  int shrinks = 600;        // tried, at most
  int redraws = 0;          // of a case that the kernel refuses, at most; then it counts, refused as it is
};

/// What failed: as it was drawn (its spec is a recipe), and the simplest that still does (properties/shrink), which is data.
struct FoundCase {
  Case drawn, simplest;
};

/// Draws cases of this family in the kernel's formats and asks `fails` about each, and about what the first failing one
/// shrinks to. A family that has no case of a format for some seed draws again. What `fails` throws is thrown on.
std::optional<FoundCase> search(const Kernel& kernel, const Family& family, const Search& options,
                                const std::function<bool(const Case& c)>& fails);

}  // namespace flashproof
