// How kernels are commonly tested today, computed on the same kernels that the laws are asked about: N(0, 1) data of
// ordinary shapes, compared in one of two ways. README.md in kernels/broken says what the column is for.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/problem/case.h"

namespace flashproof {

struct NamedProblem {
  std::string name;  // "attention f16 causal"
  Problem problem;
};

/// What a test file would hold: one shape per problem (softmax 16 × 1024; merges of 2 and 4 states, 64 × 64; attention 2 × 4
/// heads, 2 kv heads, 64 × 128, d = 64, full and causal), every input N(0, 1), a merge's lse around ln of the number of keys
/// behind it; beside the plain form one for every feature, at its ordinary value. In every storage format.
std::vector<NamedProblem> ordinary_problems(ProblemKind problem);

struct HabitResult {
  bool sees = false;  // the test fails
  std::string where;  // the first problem that fails, and by how much
  // Whether it compared anything: a number that is neither 0 nor NaN nor infinite, on a problem that the fault takes and on
  // which the kernel without it passes. Without that a test that does not fail has not passed either.
  bool tested = false;
};

/// allclose: torch.testing.assert_close with its default tolerances against the exact result rounded into the format:
/// |a − e| <= atol + rtol |e|, f32 1.3e-6 and 1e-5, f16 1e-3 and 1e-5, bf16 1.6e-2 and 1e-5; lse as f32. NaN is close to
/// nothing.
///
/// twice: flash-attention's own test: max |o − exact| <= 2 max |reference − exact| + the rounding of one addition, where the
/// reference is the textbook formula with every intermediate tensor rounded into the format of the inputs and sums in f32.
struct Habits {
  HabitResult allclose, twice;
};

/// The largest of the errors; NaN if one is; 0 if there are none.
double largest_of(const std::vector<double>& errors);

/// Computes what is asked again and again about kernels of this problem: before processes are forked, they all have it.
void prepare_habits(ProblemKind problem);

/// Of a seeded fault. Only on problems on which the hardened kernel that it is seeded in passes the same test: another test
/// would not be in use.
Habits ask_habits(const Kernel& fault, const Kernel& hardened);

}  // namespace flashproof
