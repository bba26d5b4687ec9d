#include "reference/problem/witness/samples.h"

#include <limits>

#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

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
  p.x.set({0, 1}, -kInfinity);
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
    p.lse.set({n, 0}, n == 0 ? -kInfinity : 1.5);
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) p.o.set({n, r, c}, static_cast<double>(12 * n + 4 * r + c) - 10.5);
    }
  }
  p.order = {1, 0};
  p.form = MergeForm::concat;
  return {{{ProblemKind::merge, "sample", 18446744073709551615U, {}}, p}, {{"verdict", "fail(exceeds_bound)\n\"é\""}}};
}

Witness sample_merge_states() {
  Random random(4, 0);
  MergeProblem p;
  p.o = Tensor::dense(Format::bf16, {4, 2, 3});
  p.lse = Tensor::dense(Format::f32, {4, 2});
  p.l = Tensor::strided(Format::f32, {4, 2}, {3, 0});  // one for both rows
  for (std::int64_t n = 0; n < 4; ++n) {
    p.l.set({n, 0}, n == 1 ? 0.0 : random.uniform(1, 30));
    for (std::int64_t r = 0; r < 2; ++r) {
      p.lse.set({n, r}, random.uniform(-4, 4));
      for (std::int64_t c = 0; c < 3; ++c) p.o.set({n, r, c}, random.uniform(-8, 8));
    }
  }
  p.order = {2, 0, 3, 1};
  p.joins = {{3, 1}, {0, 2}, {5, 4}};
  return {{{ProblemKind::merge, "sample", 10, {}}, p}, {}};
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
  p.bias.set({1, 0, 2, 3}, -kInfinity);
  p.scale = 0.1F;
  p.causal = true;
  p.key_length = {5, 3};
  p.plan = {{0, 2, 4, 5}, {2, 0, 1}};
  return {{{ProblemKind::attention, "sample", 7, {{"chunk", "2"}, {"format", "bf16"}}}, p}, {}};
}

Witness sample_packed() {
  Random random(2, 0);
  AttentionProblem p;
  p.q = Tensor::strided(Format::f16, {1, 2, 4, 3}, {24, 3, 6, 1});  // stored as (tokens, Hq, d)
  p.k = Tensor::dense(Format::f16, {1, 1, 6, 3});
  p.v = Tensor::dense(Format::f16, {1, 1, 6, 2});
  for (Tensor* t : {&p.q, &p.k, &p.v}) {
    for_each(t->shape, [&](auto... i) { t->set({i...}, random.uniform(-2, 2)); });
  }
  p.q_start = {0, 2, 2, 3, 4};
  p.k_start = {0, 3, 4, 4, 5};  // the third sequence has no key, and one token of k belongs to no sequence
  p.window_left = 1;
  p.window_right = 0;
  p.softcap = 30.0F;
  p.alibi = Tensor::strided(Format::f32, {4, 2}, {0, 1});  // one slope per head
  p.alibi.set({0, 0}, 0.5);
  p.alibi.set({0, 1}, -0.25);
  p.sink = Tensor::dense(Format::f32, {2});
  p.sink.set({0}, 1.5);
  p.sink.set({1}, -kInfinity);
  p.scale = 0.5F;
  p.plan = {{0, 2, 3}, {1, 0}};
  return {{{ProblemKind::attention, "sample", 8, {{"format", "f16"}}}, p}, {}};
}

Witness sample_paged() {
  Random random(3, 0);
  AttentionProblem p;
  p.q = Tensor::strided(Format::f32, {3, 2, 1, 2}, {2, 0, 2, 1});  // one query for both heads
  p.k = Tensor::dense(Format::f32, {4, 2, 2, 2});                  // pages 1 and 3 belong to no sequence
  p.v = Tensor::dense(Format::f32, {4, 2, 2, 1});
  p.bias = Tensor::strided(Format::f32, {3, 2, 1, 4}, {4, 0, 4, 1});
  for (Tensor* t : {&p.q, &p.k, &p.v, &p.bias}) {
    for_each(t->shape, [&](auto... i) { t->set({i...}, random.uniform(-2, 2)); });
  }
  p.page_table = {2,
                  0,
                  2,
                  -1,
                  std::numeric_limits<std::int32_t>::min(),
                  std::numeric_limits<std::int32_t>::max()};  // sequences 0 and 1 share a page; 2 has no key
  p.key_length = {3, 1, 0};
  p.window_right = 0;
  p.scale = -1.0F;
  p.plan = {{0, 4}, {0}};
  return {{{ProblemKind::attention, "sample", 9, {}}, p}, {{"kernel", "attention.deferred.hardened"}}};
}

Witness sample_descaled() {
  Random random(5, 0);
  AttentionProblem p;
  p.q = Tensor::dense(Format::bf16, {2, 2, 2, 4});
  p.k = Tensor::strided(Format::e4m3fn, {2, 1, 3, 4}, {15, 15, 5, 1});  // padded rows
  p.v = Tensor::dense(Format::e4m3fn, {2, 1, 3, 2});
  for (Tensor* t : {&p.q, &p.k, &p.v}) {
    for_each(t->shape, [&](auto... i) { t->set({i...}, random.uniform(-2, 2)); });
  }
  p.v.set({1, 0, 2, 1}, std::numeric_limits<double>::quiet_NaN());
  p.k_descale = Tensor::dense(Format::f32, {2, 1});
  p.k_descale.set({0, 0}, 0.375);
  p.k_descale.set({1, 0}, -0x1p-149);
  p.v_descale = Tensor::strided(Format::f32, {2, 1}, {0, 1});  // one for both sequences
  p.v_descale.set({0, 0}, 0x1.fffffep+127);
  p.scale = 0.5F;
  p.plan = {{0, 2, 3}, {1, 0}};
  return {{{ProblemKind::attention, "sample", 11, {{"format", "bf16"}}}, p}, {}};
}

Witness sample_backward() {
  Random random(6, 0);
  BackwardProblem p;
  AttentionProblem& f = p.forward;
  f.q = Tensor::dense(Format::f16, {1, 2, 2, 3});
  f.k = Tensor::strided(Format::f16, {1, 1, 4, 3}, {40, 40, 5, 1});  // padded rows
  f.v = Tensor::dense(Format::f16, {1, 1, 4, 2});
  f.alibi = Tensor::dense(Format::f32, {1, 2});
  for (std::int64_t h = 0; h < 2; ++h) f.alibi.set({0, h}, 0.25 * static_cast<double>(h + 1));
  f.window_left = 1;
  f.scale = 0.5F;
  f.plan = ChunkPlan::uniform(4, 2);
  p.d_out = Tensor::dense(Format::f16, {1, 2, 2, 2});
  p.o = Tensor::strided(Format::f32, {1, 2, 2, 2}, {16, 8, 4, 2});  // wider than q, with gaps inside the rows
  for (Tensor* t : {&f.q, &f.k, &f.v, &p.d_out, &p.o}) {
    for_each(t->shape, [&](auto... i) { t->set({i...}, random.uniform(-2, 2)); });
  }
  p.lse = Tensor::strided(Format::f32, {1, 2, 2}, {4, 1, 2});  // heads inside the sequence
  for (std::int64_t n = 0; n < 4; ++n) p.lse.set({0, n / 2, n % 2}, n == 3 ? -kInfinity : random.uniform(-1, 1));
  p.mode = BackwardMode::gradient;
  return {{{ProblemKind::backward, "sample", 12, {{"format", "f16"}, {"mode", "gradient"}}}, p},
          {{"kernel", "attention_backward.two_kernels.hardened"}}};
}

std::map<std::string, Witness> samples() {
  return {{"softmax", sample_softmax()},
          {"merge", sample_merge()},
          {"merge_states", sample_merge_states()},
          {"attention", sample_attention()},
          {"attention_packed", sample_packed()},
          {"attention_paged", sample_paged()},
          {"attention_descaled", sample_descaled()},
          {"attention_backward", sample_backward()}};
}

}  // namespace flashproof
