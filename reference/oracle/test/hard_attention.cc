// Kinds of attention on which naive evaluations go wrong: the classes that a certified oracle was measured on (randn,
// outliers, masks, ends of the range, cancellation, ties) and one or more for every feature.
#include <cmath>
#include <utility>

#include "reference/oracle/test/hard_parts.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

constexpr double kLargest = 0x1.fffffep+127;  // of f32
constexpr Format kF32 = Format::f32;

AttentionProblem usual(Random& r, Format format = kF32, AttentionSize size = {}) {
  return attention(format, size, normal(r), normal(r), normal(r));
}

/// With a bias over the default sizes.
AttentionProblem biased(Random& r, const Draw& bias) {
  AttentionProblem p = usual(r);
  p.bias = filled(kF32, {1, 1, 4, 12}, bias);
  return p;
}

/// Scores within 0.01 of each other, so that lse is the target or next to it.
AttentionProblem lse_near(Random& r, double target) {
  const double each = std::fabs(target) > 1e6 ? target : target - std::log(12.0);
  AttentionProblem p = biased(r, [each] { return each; });
  p.scale = 1e-3F;
  return p;
}

/// Two channels of k a hundred times the others, as language models have them.
AttentionProblem outliers(Random& r, Format format) {
  AttentionProblem p = usual(r, format, {.sk = 16, .d = 32});
  for (std::int64_t j = 0; j < p.k_length(); ++j) {
    for (const std::int64_t c : {3, 17}) p.k.set({0, 0, j, c}, 100.0 * p.k.at({0, 0, j, c}));
  }
  p.scale = 0.17677669F;
  return p;
}

/// q·k and the bias of very different sizes: one is the same for every key and so large that the other is a few half units
/// in its last place as a double. A reference rounded like a score may then be far from every exact one. Or they cancel.
AttentionProblem bias_apart(Random& r) {
  AttentionProblem p = usual(r, kF32, {.d = 1});
  p.scale = 1.0F;
  const auto unit = static_cast<int>(r.integer(2, 10));
  const double large = std::ldexp(r.chance(0.5) ? 1.0 : -1.0, 53 + unit);
  const auto small = [&r, unit] { return std::ldexp(static_cast<double>(r.integer(-3, 3)), unit); };
  const int form = static_cast<int>(r.integer(0, 2));
  p.q = filled(kF32, p.q.shape, [] { return 1.0; });
  p.k = filled(kF32, p.k.shape, [&] { return form == 0 ? large : form == 1 ? small() : large * r.uniform(); });
  p.bias = filled(kF32, {1, 1, 4, 12}, [&] { return form == 1 ? large : small(); });
  if (form == 2) {
    for (std::int64_t i = 0; i < p.q_length(); ++i) {
      for (std::int64_t j = 0; j < p.k_length(); j += 2) p.bias.set({0, 0, i, j}, -p.k.at({0, 0, j, 0}));
    }
  }
  return p;
}

/// q·k = a·b − a·b + small, a and b near 2^exponent: the products are near 2^(2·exponent).
AttentionProblem cancelling(Random& r, int exponent) {
  AttentionProblem p = usual(r);
  for (std::int64_t j = 0; j < p.k_length(); ++j) {
    const double large = std::ldexp(1.0 + r.uniform(), exponent);
    p.k.set({0, 0, j, 0}, large);
    p.k.set({0, 0, j, 1}, -large);
  }
  for (std::int64_t i = 0; i < p.q_length(); ++i) {
    const double large = std::ldexp(1.0 + r.uniform(), exponent);
    p.q.set({0, 0, i, 0}, large);
    p.q.set({0, 0, i, 1}, large);
  }
  return p;
}

/// Dots at 1e70, equal in pairs though their products come in another order: q has its columns in equal pairs, and key
/// 2n+1 is key 2n with the columns of each pair exchanged.
AttentionProblem exact_ties(Random& r) {
  AttentionProblem p = attention(kF32, {}, normal(r, 1e35), normal(r, 1e35), normal(r));
  for (std::int64_t c = 0; c + 1 < p.head_dim(); c += 2) {
    for (std::int64_t i = 0; i < p.q_length(); ++i) p.q.set({0, 0, i, c + 1}, p.q.at({0, 0, i, c}));
    for (std::int64_t j = 0; j + 1 < p.k_length(); j += 2) {
      p.k.set({0, 0, j + 1, c}, p.k.at({0, 0, j, c + 1}));
      p.k.set({0, 0, j + 1, c + 1}, p.k.at({0, 0, j, c}));
    }
  }
  return p;
}

/// Every dot is 1e30 plus something of order 1.
AttentionProblem near_ties(Random& r) {
  AttentionProblem p = usual(r);
  for (std::int64_t i = 0; i < p.q_length(); ++i) p.q.set({0, 0, i, 0}, 1e15);
  for (std::int64_t j = 0; j < p.k_length(); ++j) p.k.set({0, 0, j, 0}, 1e15);
  return p;
}

/// Keys in pairs: equal k, v opposite but for one unit in the last place.
AttentionProblem values_cancel_to_an_ulp(Random& r) {
  AttentionProblem p = usual(r);
  for (std::int64_t j = 0; j + 1 < p.k_length(); j += 2) {
    for (std::int64_t c = 0; c < p.head_dim(); ++c) p.k.set({0, 0, j + 1, c}, p.k.at({0, 0, j, c}));
    for (std::int64_t c = 0; c < p.value_dim(); ++c) {
      const auto v = static_cast<float>(p.v.at({0, 0, j, c}));
      p.v.set({0, 0, j + 1, c}, -std::nextafter(v, static_cast<float>(kInfinity)));
    }
  }
  return p;
}

/// Every eighth product is 1, the others 2^-53 (1 + 2^-9): adding them to a sum in [1, 2) in double rounds up by
/// nearly half a unit, every time.
AttentionProblem sums_that_round_up(Random& r) {
  AttentionProblem p = usual(r, kF32, {.d = 128});
  for (std::int64_t c = 0; c < p.head_dim(); ++c) {
    const bool large = c % 8 == 0;
    for (std::int64_t i = 0; i < p.q_length(); ++i) p.q.set({0, 0, i, c}, large ? 1.0 : 0x1.008p-26);
    for (std::int64_t j = 0; j < p.k_length(); ++j) {
      const double one = r.chance(0.5) ? 1.0 : 1.0 + 0x1p-3;  // or every score would be the same
      p.k.set({0, 0, j, c}, large ? one : 0x1p-27);
    }
  }
  return p;
}

AttentionProblem capped(Random& r, float softcap, double sigma) {
  AttentionProblem p = attention(kF32, {}, normal(r, sigma), normal(r, sigma), normal(r));
  p.softcap = softcap;
  return p;
}

AttentionProblem with_slopes(Random& r, double first, double ratio) {
  AttentionProblem p = usual(r, kF32, {.q_heads = 2, .sk = 24});
  double slope = first / ratio;
  p.alibi = filled(kF32, {1, 2}, [&] { return slope *= ratio; });
  return p;
}

AttentionProblem with_sinks(Random& r, const Draw& draw) {
  AttentionProblem p = usual(r, kF32, {.q_heads = 2});
  p.sink = filled(kF32, {2}, draw);
  return p;
}

/// Redrawn until there are 15 outputs: packed sequences may be empty.
AttentionProblem mixed(Random& r, const Mix& mix) {
  while (true) {
    AttentionProblem p = random_attention(r, kF32, mix, r.chance(0.5));
    const OutputShape shape = output_shape(p);
    if (shape.rows * (shape.width + 1) >= 15) return p;
  }
}

}  // namespace

std::vector<Kind> hard_attention_kinds() {
  using P = AttentionProblem;
  return {
      {"attention normal f16", [](Random& r) { return usual(r, Format::f16); }},
      {"attention normal bf16", [](Random& r) { return usual(r, Format::bf16); }},
      {"attention odd sizes",
       [](Random& r) { return usual(r, kF32, {.batch = 2, .q_heads = 3, .sq = 3, .sk = 37, .d = 33, .dv = 7}); }},
      {"attention long row", [](Random& r) { return usual(r, kF32, {.sq = 3, .sk = 301, .d = 16}); }},
      {"attention peaked logits x8", [](Random& r) { return changed(usual(r), [](P& p) { p.scale = 2.8F; }); }},
      {"attention negative scale", [](Random& r) { return changed(usual(r), [](P& p) { p.scale = -2.0F; }); }},
      {"attention scale 0 (all keys tie)", [](Random& r) { return changed(usual(r), [](P& p) { p.scale = 0.0F; }); }},
      {"attention scale 1e38", [](Random& r) { return changed(usual(r), [](P& p) { p.scale = 1e38F; }); }},
      {"attention outlier channels f32", [](Random& r) { return outliers(r, kF32); }},
      {"attention outlier channels bf16", [](Random& r) { return outliers(r, Format::bf16); }},
      {"attention causal",
       [](Random& r) { return changed(usual(r, kF32, {.sq = 9, .sk = 9}), [](P& p) { p.causal = true; }); }},
      {"attention 90 % hidden",
       [](Random& r) { return biased(r, [&r] { return r.chance(0.9) ? -kInfinity : r.normal(); }); }},
      {"attention finite masks of -3.4e38",
       [](Random& r) { return biased(r, [&r] { return r.chance(0.7) ? -kLargest : 0.0; }); }},
      {"attention full range f16",
       [](Random& r) {
         const Draw any = log_uniform(r, -24, 15);
         return attention(Format::f16, {}, any, any, any);
       }},
      {"attention subnormal V",
       [](Random& r) { return attention(kF32, {}, normal(r), normal(r), log_uniform(r, -149, -126)); }},
      {"attention bias and dots far apart", bias_apart},
      {"attention lse near 0", [](Random& r) { return lse_near(r, 0.0); }},
      {"attention lse near 88.7", [](Random& r) { return lse_near(r, 88.7); }},
      {"attention lse near 709", [](Random& r) { return lse_near(r, 709.0); }},
      {"attention lse near 3.4e38", [](Random& r) { return lse_near(r, 3.4e38); }},
      {"attention lse near -3.4e38", [](Random& r) { return lse_near(r, -3.4e38); }},
      {"attention dots cancel at 2^24", [](Random& r) { return cancelling(r, 12); }},
      {"attention dots cancel at 2^70", [](Random& r) { return cancelling(r, 35); }},
      {"attention exact ties at 1e70", exact_ties},
      {"attention near ties at 1e30", near_ties},
      {"attention V cancels to an ulp", values_cancel_to_an_ulp},
      {"attention dots round up in every sum", sums_that_round_up},
      {"attention softcap 30", [](Random& r) { return capped(r, 30.0F, 3.0); }},
      {"attention softcap 30 saturated", [](Random& r) { return capped(r, 30.0F, 20.0); }},
      {"attention softcap 50 of small scores", [](Random& r) { return capped(r, 50.0F, 0.03); }},
      {"attention softcap 50 of dots at 1e76", [](Random& r) { return capped(r, 50.0F, 5e37); }},
      {"attention softcap 1e-30", [](Random& r) { return capped(r, 1e-30F, 1.0); }},
      {"attention softcap 3e38", [](Random& r) { return capped(r, 3e38F, 1.0); }},
      {"attention ALiBi", [](Random& r) { return with_slopes(r, 0.5, 0.5); }},
      {"attention ALiBi steep", [](Random& r) { return with_slopes(r, 3e37, -1.0); }},
      {"attention sinks dominate", [](Random& r) { return with_sinks(r, normal(r, 1.0, 40.0)); }},
      {"attention sinks among the scores", [](Random& r) { return with_sinks(r, normal(r)); }},
      {"attention sinks at 1e38", [](Random& r) { return with_sinks(r, normal(r, 5e37)); }},
      {"attention sinks and no visible key",
       [](Random& r) { return changed(with_sinks(r, normal(r, 30.0)), [](P& p) { p.key_length = {0}; }); }},
      {"attention windows", [](Random& r) { return mixed(r, {.causal = true, .window = true}); }},
      {"attention windows beyond the keys",
       [](Random& r) {
         return changed(usual(r, kF32, {.sq = 9, .sk = 4}), [](P& p) { p.window_left = 1, p.window_right = 0; });
       }},
      {"attention packed", [](Random& r) { return mixed(r, {.causal = true, .packed = true}); }},
      {"attention paged", [](Random& r) { return mixed(r, {.lengths = true, .bias = true, .paged = true}); }},
      {"attention packed and paged, window, ALiBi, sink",
       [](Random& r) {
         return mixed(r, {.causal = true, .window = true, .alibi = true, .sink = true, .packed = true, .paged = true});
       }},
      {"attention with everything but packs",
       [](Random& r) { return mixed(r, {true, true, true, true, true, true, true, false, true}); }},
  };
}

}  // namespace flashproof::test
