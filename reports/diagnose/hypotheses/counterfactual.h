// "What would lower it": the bound of one element under changed declarations, recomputed, not estimated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "reference/problem/case.h"

namespace flashproof {

/// One change of the arithmetic, or of the chunk plan, in words. The text is a literal.
struct Change {
  std::string_view text;
  /// False, nothing changed: there is no such step here, or it is already so.
  bool (*apply)(Problem& problem, Arithmetic& arithmetic);
};
std::span<const Change> changes();

/// The same of a backward pass.
struct BackwardChange {
  std::string_view text;
  bool (*apply)(BackwardArithmetic& arithmetic);
};
std::span<const BackwardChange> backward_changes();

struct Improvement {
  std::string_view text;
  double factor;  // old bound / new bound, +inf where the new one is 0
};

/// The changes that lower the bound of this element by at least 5 %, the largest factor first. `before` is its total().
/// Changes that no theorem covers together with the rest of the declaration are left out. `tried` receives how many were
/// evaluated.
std::vector<Improvement> improvements(const Case& subject, const Kernel& kernel, Part part, std::int64_t index,
                                      double before, int* tried = nullptr);

}  // namespace flashproof
