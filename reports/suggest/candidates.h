// Declarations that a kernel may have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "reference/problem/case.h"

namespace flashproof {

struct ArithmeticCandidate {
  std::string json;  // as a description has it
  Arithmetic arithmetic;
  double width = 0;  // mean log2 of the bound, of what all candidates bound
};

/// Presets for kernels of this problem and format; each with one field changed, where parse_arithmetic() takes that.
std::vector<ArithmeticCandidate> arithmetic_candidates(ProblemKind problem, Format format);
/// Sets `width` by these cases and puts the narrowest first; of equals the order stays. One that has no bound for most of them goes last.
void sort_by_width(std::vector<ArithmeticCandidate>& list, std::span<const Case> cases);

}  // namespace flashproof
