// Test support: what a kernel returns that computes no weights.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

/// NaN where there is none, as of a row that sees nothing.
struct TrivialAnswers {
  double copy, uniform, least, largest;
};

/// Every element of o, or of lse (largest: the largest score alone; the others as it). Plain doubles; its own arithmetic, not
/// that of reference/error/trivial.h, which the test is about.
void for_each_trivial(const Problem& problem, bool lse,
                      const std::function<void(std::int64_t, const TrivialAnswers&)>& visit);

/// Row-major and dense.
struct UniformGradients {
  std::vector<double> dq, dk, dv;
};
/// With every key that a query sees weighted alike, and D from the o that is given.
UniformGradients uniform_gradients(const BackwardProblem& problem);

}  // namespace flashproof
