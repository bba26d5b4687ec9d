// Problems for the tests of this folder, one per kind of difficulty. Not part of the library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::test {

using Draw = std::function<double()>;

/// Every element drawn and rounded into the format. With padding, rows are a few elements apart and the gaps hold NaN.
Tensor filled(Format format, std::vector<std::int64_t> shape, const Draw& draw, bool padded = false);

SoftmaxProblem softmax(Format format, std::int64_t rows, std::int64_t cols, const Draw& draw);
MergeProblem merge(Format format, std::int64_t states, std::int64_t rows, std::int64_t width, const Draw& o,
                   const Draw& lse, MergeForm form);

struct AttentionSize {
  std::int64_t batch = 1, q_heads = 1, k_heads = 1, sq = 4, sk = 12, d = 8, dv = 5;
};
AttentionProblem attention(Format format, AttentionSize size, const Draw& q, const Draw& k, const Draw& v,
                           bool padded = false);

/// Full feature mix: lengths, causal, bias with −inf, GQA, chunk plans in random order, strides, all three formats.
Problem random_problem(std::uint64_t seed);

struct Kind {
  std::string name;
  std::function<Problem(Random&)> make;
};
/// Kinds whose naive evaluation goes wrong somewhere; inputs are finite but for −inf masks.
const std::vector<Kind>& hard_kinds();

}  // namespace flashproof::test
