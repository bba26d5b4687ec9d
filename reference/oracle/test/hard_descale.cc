// Kinds of attention with descale factors and with numbers of 8 bits.
#include <cmath>
#include <utility>

#include "reference/oracle/test/hard_parts.h"

namespace flashproof::test {
namespace {

constexpr Format kF32 = Format::f32;
constexpr AttentionSize kSize = {.batch = 2, .q_heads = 2, .k_heads = 2, .sq = 2, .sk = 12, .d = 8, .dv = 5};

/// All three factors, drawn for each sequence and kv head.
AttentionProblem descaled(AttentionProblem p, const Draw& score, const Draw& value) {
  const std::vector<std::int64_t> shape = {p.sequences(), p.k_heads()};
  p.q_descale = filled(kF32, shape, score);
  p.k_descale = filled(kF32, shape, score);
  p.v_descale = filled(kF32, shape, value);
  return p;
}

AttentionProblem usual(Random& r, Format q, Format kv) {
  AttentionProblem p = attention(q, kSize, normal(r), normal(r), normal(r));
  p.k = filled(kv, p.k.shape, normal(r));
  p.v = filled(kv, p.v.shape, normal(r));
  return p;
}

/// What a quantiser makes: factors of 24 bits around 1.
Draw around_one(Random& r) {
  return [&r] { return std::ldexp(1.0 + r.uniform(), static_cast<int>(r.integer(-3, 1))); };
}

/// Products of the three factors of every size, and queries that bring the scores back to about 1.
AttentionProblem compensated(Random& r, int exponent) {
  AttentionProblem p = descaled(usual(r, kF32, kF32), log_uniform(r, exponent, exponent + 1), around_one(r));
  const int back = -2 * exponent;
  p.q = filled(kF32, p.q.shape, normal(r, std::ldexp(1.0, back / 2)));
  p.k = filled(kF32, p.k.shape, normal(r, std::ldexp(1.0, back - back / 2)));
  return p;
}

/// Equal dot products but for one unit in the last place, which the factors bring to about 1.
AttentionProblem near_ties(Random& r) {
  AttentionProblem p =
      attention(kF32, {.batch = 1, .sq = 4, .sk = 12, .d = 2, .dv = 5}, normal(r), normal(r), normal(r));
  p.scale = 1.0F;
  for (std::int64_t i = 0; i < 4; ++i) p.q.set({0, 0, i, 0}, 1.0), p.q.set({0, 0, i, 1}, 0x1p-23);
  for (std::int64_t j = 0; j < 12; ++j) {
    p.k.set({0, 0, j, 0}, 1.0);
    p.k.set({0, 0, j, 1}, static_cast<double>(r.integer(0, 3)));
  }
  const float factor = static_cast<float>(1.5 + r.uniform() / 4);
  p.q_descale = filled(kF32, {1, 1}, [&] { return factor * 0x1p11; });
  p.k_descale = filled(kF32, {1, 1}, [&] { return 1.0 / factor * 0x1p12; });
  return p;
}

}  // namespace

std::vector<Kind> hard_descale_kinds() {
  using P = AttentionProblem;
  constexpr Format e4m3fn = Format::e4m3fn, e5m2 = Format::e5m2, bf16 = Format::bf16, f16 = Format::f16;
  return {
      {"attention descaled", [](Random& r) { return descaled(usual(r, kF32, kF32), around_one(r), around_one(r)); }},
      {"attention descaled fp8",
       [](Random& r) { return descaled(usual(r, bf16, e4m3fn), around_one(r), around_one(r)); }},
      {"attention fp8 of 5 and 2 bits", [](Random& r) { return usual(r, f16, e5m2); }},
      {"attention fp8 query", [](Random& r) { return descaled(usual(r, e4m3fn, e5m2), around_one(r), around_one(r)); }},
      {"attention fp8 of every size",
       [](Random& r) {
         P p = usual(r, e4m3fn, e5m2);
         p.q = filled(e4m3fn, p.q.shape, log_uniform(r, -9, 8));
         p.k = filled(e5m2, p.k.shape, log_uniform(r, -16, 15));
         p.v = filled(e5m2, p.v.shape, log_uniform(r, -16, 15));
         return p;
       }},
      {"attention descaled by powers of two",
       [](Random& r) {
         const Draw power = [&r] { return std::ldexp(r.chance(0.5) ? 1.0 : -1.0, static_cast<int>(r.integer(-4, 2))); };
         return descaled(usual(r, bf16, e4m3fn), power, power);
       }},
      {"attention descaled, huge factors", [](Random& r) { return compensated(r, 126); }},
      {"attention descaled, tiny factors", [](Random& r) { return compensated(r, -100); }},
      {"attention descaled, subnormal factors",
       [](Random& r) {
         const Draw tiny = log_uniform(r, -149, -126);
         P p = descaled(usual(r, kF32, kF32), tiny, tiny);
         p.scale = 0x1p-149F;
         return p;
       }},
      {"attention descaled, full range",
       [](Random& r) {
         const Draw any = log_uniform(r, -149, 127);
         return descaled(attention(kF32, kSize, any, any, any), any, any);
       }},
      {"attention descaled, everything at 1e38",
       [](Random& r) {
         const Draw huge = normal(r, 5e37);
         return changed(descaled(attention(kF32, kSize, huge, huge, huge), huge, huge), [](P& p) { p.scale = 3e38F; });
       }},
      {"attention descaled by 0",
       [](Random& r) {
         const Draw draw = [&r] { return r.chance(0.3) ? 0.0 : r.normal(); };
         return descaled(usual(r, kF32, e4m3fn), draw, draw);
       }},
      {"attention descaled near ties", near_ties},
      {"attention descaled, softcap",
       [](Random& r) {
         return changed(descaled(usual(r, bf16, e4m3fn), normal(r, 10), around_one(r)), [](P& p) { p.softcap = 30; });
       }},
      {"attention descaled, softcap of scores at 1e150",
       [](Random& r) {
         const Draw huge = normal(r, 5e37);
         return changed(descaled(attention(kF32, kSize, huge, huge, normal(r)), huge, huge),
                        [](P& p) { p.softcap = 50; });
       }},
      {"attention descaled with everything",
       [](Random& r) {
         const Mix mix = {.causal = true,
                          .lengths = true,
                          .bias = true,
                          .window = true,
                          .alibi = true,
                          .sink = true,
                          .packed = r.chance(0.5),
                          .paged = r.chance(0.5)};
         while (true) {
           P p = random_attention(r, bf16, mix, r.chance(0.5));
           const OutputShape shape = output_shape(p);
           if (shape.rows * (shape.width + 1) >= 15) return descaled(p, around_one(r), normal(r));
         }
       }},
  };
}

}  // namespace flashproof::test
