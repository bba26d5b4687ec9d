#include "reference/problem/samples.h"

#include <limits>

#include "reference/problem/random.h"

namespace flashproof {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Calls set(index) for every index of a 4-axis shape.
template <class Set>
void for_each(const std::vector<std::int64_t>& n, Set set) {
  for (std::int64_t a = 0; a < n[0]; ++a) {
    for (std::int64_t b = 0; b < n[1]; ++b) {
      for (std::int64_t c = 0; c < n[2]; ++c) {
        for (std::int64_t d = 0; d < n[3]; ++d) set(a, b, c, d);
      }
    }
  }
}

}  // namespace

Witness sample_softmax() {
  SoftmaxProblem p;
  p.x = Tensor::strided(Format::f16, {3, 5}, {8, 1});
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 5; ++c) p.x.set({r, c}, static_cast<double>(5 * r + c) / 4);
  }
  p.x.set({0, 1}, -kInf);
  p.x.set({1, 4}, std::numeric_limits<double>::quiet_NaN());
  p.x.set({2, 0}, 0x1p-24);
  p.x.storage.resize(p.x.storage.size() + 6, std::byte{0xff});
  p.row_length = {5, 0, 2};
  p.plan = {{0, 2, 5}, {1, 0}};
  return {{{ProblemKind::softmax, "sample", 1, {{"cols", "5"}, {"rows", "3"}}}, p},
          {{"kernel", "softmax.online_block.hardened"}, {"executor", "cpu"}}};
}

Witness sample_merge() {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {2, 3, 4});
  p.lse = Tensor::strided(Format::f32, {2, 3}, {1, 0});
  for (std::int64_t n = 0; n < 2; ++n) {
    p.lse.set({n, 0}, n == 0 ? -kInf : 1.5);
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) p.o.set({n, r, c}, static_cast<double>(12 * n + 4 * r + c) - 10.5);
    }
  }
  p.order = {1, 0};
  p.form = MergeForm::concat;
  return {{{ProblemKind::merge, "sample", 18446744073709551615U, {}}, p}, {{"verdict", "fail(exceeds_bound)\n\"é\""}}};
}

Witness sample_attention() {
  Random random(1, 0);
  AttentionProblem p;
  p.q = Tensor::strided(Format::bf16, {2, 2, 3, 4}, {24, 4, 8, 1});  // stored as (B, Sq, Hq, d)
  p.k = Tensor::strided(Format::bf16, {2, 1, 5, 4}, {0, 0, 6, 1});   // one for both batches, padded rows
  p.v = Tensor::dense(Format::bf16, {2, 1, 5, 2});
  p.bias = Tensor::dense(Format::f32, {2, 2, 3, 5});
  for (Tensor* t : {&p.q, &p.k, &p.v, &p.bias}) {
    for_each(t->shape, [&](auto... i) { t->set({i...}, random.uniform(-2, 2)); });
  }
  p.bias.set({1, 0, 2, 3}, -kInf);
  p.scale = 0.1F;
  p.causal = true;
  p.key_length = {5, 3};
  p.plan = {{0, 2, 4, 5}, {2, 0, 1}};
  return {{{ProblemKind::attention, "sample", 7, {{"chunk", "2"}, {"format", "bf16"}}}, p}, {}};
}

std::map<std::string, Witness> samples() {
  return {{"softmax", sample_softmax()}, {"merge", sample_merge()}, {"attention", sample_attention()}};
}

}  // namespace flashproof
