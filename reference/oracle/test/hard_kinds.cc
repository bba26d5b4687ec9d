// Inputs on which naive evaluations go wrong. Index 12 is "attention normal"; new kinds go to the end.
#include <cmath>
#include <utility>

#include "reference/oracle/test/hard_parts.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

std::vector<Kind> first_kinds() {
  constexpr Format f32 = Format::f32;
  std::vector<Kind> kinds = {
      {"softmax normal", [](Random& r) { return softmax(f32, 3, 40, normal(r)); }},
      {"softmax magnitudes 1e38", [](Random& r) { return softmax(f32, 3, 20, normal(r, 5e37)); }},
      {"softmax subnormal inputs", [](Random& r) { return softmax(f32, 3, 20, log_uniform(r, -149, -126)); }},
      {"softmax full range", [](Random& r) { return softmax(f32, 3, 30, log_uniform(r, -149, 127)); }},
      {"softmax rows at -1e6", [](Random& r) { return softmax(f32, 3, 20, normal(r, 40.0, -1e6)); }},
      {"softmax spread 1e6 (underflow)", [](Random& r) { return softmax(f32, 3, 20, normal(r, 1e6)); }},
      {"softmax ties at 1e30",
       [](Random& r) { return softmax(f32, 3, 20, [&r] { return r.chance(0.5) ? 1e30 : -r.uniform() * 1e30; }); }},
      {"softmax lse near 0",
       [](Random& r) { return softmax(f32, 3, 20, [&r] { return -std::log(20.0) + 1e-7 * r.normal(); }); }},
      {"softmax one survivor",
       [](Random& r) {
         SoftmaxProblem p = softmax(f32, 2, 20, [] { return -kInfinity; });
         p.x.set({0, r.integer(0, 19)}, r.normal());
         p.x.set({1, 19}, -1e38);
         return p;
       }},
      {"merge normal", [](Random& r) { return merge(f32, 4, 3, 4, normal(r), normal(r), MergeForm::sum); }},
      {"merge lse 1e38", [](Random& r) { return merge(f32, 4, 3, 4, normal(r), normal(r, 3e37), MergeForm::sum); }},
      {"merge tiny weights beside 1e30",
       [](Random& r) { return merge(f32, 4, 3, 4, normal(r, 1e30), normal(r, 60.0), MergeForm::concat); }},
      {"attention normal", [](Random& r) { return attention(f32, {}, normal(r), normal(r), normal(r)); }},
      {"attention bf16 at 2^60",
       [](Random& r) { return attention(Format::bf16, {}, normal(r, 0x1p60), normal(r, 0x1p60), normal(r)); }},
      {"attention magnitudes 1e38 (dots at 1e76)",
       [](Random& r) { return attention(f32, {}, normal(r, 5e37), normal(r, 5e37), normal(r, 5e37)); }},
      {"attention subnormal",
       [](Random& r) {
         const Draw tiny = log_uniform(r, -149, -126);
         return attention(f32, {}, tiny, tiny, tiny);
       }},
      {"attention full range",
       [](Random& r) {
         const Draw any = log_uniform(r, -149, 127);
         return attention(f32, {}, any, any, any);
       }},
      {"attention cancelling dots",
       [](Random& r) {  // q·k = a·b − a·b + small, with a·b at 2^40
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         for (std::int64_t j = 0; j < p.k_length(); ++j) {
           const double large = std::ldexp(r.normal(), 20);
           p.k.set({0, 0, j, 0}, large);
           p.k.set({0, 0, j, 1}, -large);
         }
         for (std::int64_t i = 0; i < p.q_length(); ++i) {
           const double large = std::ldexp(r.normal(), 20);
           p.q.set({0, 0, i, 0}, large);
           p.q.set({0, 0, i, 1}, large);
         }
         return p;
       }},
      {"attention V cancels to exact zeros",
       [](Random& r) {  // keys in pairs: equal k, opposite v; the pairs have different scores
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         for (std::int64_t j = 0; j + 1 < p.k_length(); j += 2) {
           for (std::int64_t c = 0; c < p.head_dim(); ++c) p.k.set({0, 0, j + 1, c}, p.k.at({0, 0, j, c}));
           for (std::int64_t c = 0; c < p.value_dim(); ++c) p.v.set({0, 0, j + 1, c}, -p.v.at({0, 0, j, c}));
         }
         return p;
       }},
      {"attention bias -1e6 and -inf",
       [](Random& r) {
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         p.bias = filled(f32, {1, 1, 4, 12}, [&r] { return r.chance(0.5) ? -kInfinity : -1e6 * r.uniform(); });
         return p;
       }},
      {"attention tiny weights beside 1e30",
       [](Random& r) {
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), log_uniform(r, -20, 100));
         p.bias = filled(f32, {1, 1, 4, 12}, [&r] { return -100.0 * r.uniform(); });
         return p;
       }},
      {"softmax f16", [](Random& r) { return softmax(Format::f16, 3, 33, normal(r, 8.0)); }},
      {"softmax bf16 full range", [](Random& r) { return softmax(Format::bf16, 3, 30, log_uniform(r, -133, 127)); }},
      {"softmax lse near 3.4e38",
       [](Random& r) { return softmax(f32, 3, 20, [&r] { return r.chance(0.5) ? 3.4e38 : 3.39e38; }); }},
      {"merge ties at 3e38",
       [](Random& r) {
         return merge(f32, 5, 3, 4, normal(r), [&r] { return r.chance(0.5) ? 3e38 : 2.9e38; }, MergeForm::sum);
       }},
      {"merge blocks cancel",
       [](Random& r) { return cancelling(merge(f32, 4, 3, 4, normal(r), normal(r), MergeForm::sum)); }},
  };
  return kinds;
}

}  // namespace

const std::vector<Kind>& hard_kinds() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> list = first_kinds();
    const std::vector<Kind> more = hard_attention_kinds();
    list.insert(list.end(), more.begin(), more.end());
    const std::vector<Kind> states = hard_merge_kinds();
    list.insert(list.end(), states.begin(), states.end());
    const std::vector<Kind> descaled = hard_descale_kinds();
    list.insert(list.end(), descaled.begin(), descaled.end());
    return list;
  }();
  return kinds;
}

}  // namespace flashproof::test
