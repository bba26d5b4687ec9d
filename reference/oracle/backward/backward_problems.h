// Backward problems for tests: random ones of every feature, and kinds whose naive evaluation goes wrong somewhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/random.h"

namespace flashproof::test {

/// o and lse of the forward problem, evaluated in doubles and rounded into o_format and f32; rows without a key: 0 and
/// −inf. d_out stays as it is.
void fill_forward(BackwardProblem& problem, Format o_format);

/// Small: GQA, causality, windows, lengths, bias with −inf, ALiBi; stage (o and lse right, or off) and gradient.
BackwardProblem random_backward(Random& random, Format format);

/// In f32, f16 or bf16.
struct BackwardKind {
  std::string name;
  std::function<BackwardProblem(Random&, Format)> make;
};
const std::vector<BackwardKind>& hard_backward_kinds();

}  // namespace flashproof::test
