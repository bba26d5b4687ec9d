#include "reference/oracle/backward/backward_problems.h"

#include <cmath>
#include <utility>

#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

Tensor like_output(const AttentionProblem& p, Format format, const Draw& draw) {
  return filled(format, {p.batch(), p.q_heads(), p.q_length(), p.value_dim()}, draw);
}

BackwardProblem backward_of(AttentionProblem forward, const Draw& d_out, BackwardMode mode) {
  BackwardProblem p{.forward = std::move(forward), .d_out = {}, .o = {}, .lse = {}, .mode = mode};
  p.d_out = like_output(p.forward, p.forward.q.format, d_out);
  fill_forward(p, p.forward.q.format);
  return p;
}

AttentionProblem plain(Random& random, Format format, double q_size, double k_size, double v_size) {
  AttentionProblem p = attention(format, {.batch = 1, .q_heads = 2, .k_heads = 1, .sq = 3, .sk = 9, .d = 6, .dv = 4},
                                 normal(random, q_size), normal(random, k_size), normal(random, v_size));
  p.scale = 0.5F;
  return p;
}

void shift_lse(BackwardProblem& p, const Draw& by) {
  for (std::int64_t h = 0; h < p.forward.q_heads(); ++h) {
    for (std::int64_t i = 0; i < p.forward.q_length(); ++i) p.lse.set({0, h, i}, p.lse.at({0, h, i}) + by());
  }
}

BackwardMode any_mode(Random& random) { return random.chance(0.5) ? BackwardMode::stage : BackwardMode::gradient; }

/// v_j is c but for the last bits, so that dP_ij and D_i agree in nearly all of theirs.
BackwardProblem near_constant_values(Random& random, Format format) {
  AttentionProblem f = plain(random, format, 1, 1, 1);
  const int bits = 7 - info(format).precision;
  f.v = filled(format, {1, 1, 9, 4}, [&] { return 3.0 + std::ldexp(random.normal(), bits); });
  return backward_of(f, normal(random), any_mode(random));
}

/// Scores around ±10^5: e^(s − lse) from two numbers of that size.
BackwardProblem huge_lse(Random& random, Format format) {
  AttentionProblem f = plain(random, format, 1, 1, 1);
  f.bias = filled(Format::f32, {1, 2, 3, 9}, [&] { return 1e5 + random.normal(); });
  if (random.chance(0.5)) {
    f.bias = filled(Format::f32, {1, 2, 3, 9}, [&] { return -1e5 + random.normal(); });
  }
  return backward_of(f, normal(random), any_mode(random));
}

/// q and k so large that scores differ by thousands: one-hot rows, P and dS around 0.
BackwardProblem one_hot(Random& random, Format format) {
  return backward_of(plain(random, format, 100, 40, 1), normal(random), any_mode(random));
}

/// lse too small: P far above 1, up to beyond f32 and beyond a double.
BackwardProblem weights_above_one(Random& random, Format format) {
  BackwardProblem p = backward_of(plain(random, format, 1, 1, 1), normal(random), BackwardMode::stage);
  const double by = random.chance(0.3) ? 60 : random.chance(0.5) ? 300 : 5000;
  shift_lse(p, [&] { return -by * random.uniform(); });
  return p;
}

/// lse too large: every weight subnormal or 0.
BackwardProblem weights_below_everything(Random& random, Format format) {
  BackwardProblem p = backward_of(plain(random, format, 1, 1, 1), normal(random), BackwardMode::stage);
  shift_lse(p, [&] { return random.chance(0.3) ? 100 + random.normal() : 400 * random.uniform(); });
  return p;
}

/// Sums over queries and keys that cancel: q in pairs of opposite sign with the same dO.
BackwardProblem opposite_rows(Random& random, Format format) {
  BackwardProblem p = backward_of(plain(random, format, 1, 1, 1), normal(random), BackwardMode::stage);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t c = 0; c < 4; ++c) p.d_out.set({0, 1, i, c}, -p.d_out.at({0, 0, i, c}) * (1 + 0x1p-20));
    for (std::int64_t c = 0; c < 6; ++c) p.forward.q.set({0, 1, i, c}, p.forward.q.at({0, 0, i, c}));
  }
  fill_forward(p, format);
  return p;
}

/// The whole range of the format in v and dO.
BackwardProblem wild_exponents(Random& random, Format format) {
  const bool half = format == Format::f16;
  AttentionProblem f = attention(format, {.sq = 3, .sk = 6, .d = 3, .dv = 3}, log_uniform(random, -20, 10),
                                 log_uniform(random, -20, 8), log_uniform(random, half ? -24 : -140, half ? 15 : 120));
  return backward_of(f, log_uniform(random, half ? -24 : -149, half ? 15 : 100), any_mode(random));
}

}  // namespace

void fill_forward(BackwardProblem& p, Format o_format) {
  const ReferenceResult<double> result = reference<double>(p.forward);
  const AttentionProblem& f = p.forward;
  p.o = like_output(f, o_format, [n = std::size_t{0}, &result]() mutable { return result.o[n++]; });
  p.lse = filled(Format::f32, {f.batch(), f.q_heads(), f.q_length()},
                 [n = std::size_t{0}, &result]() mutable { return result.lse[n++]; });
}

BackwardProblem random_backward(Random& random, Format format) {
  const Mix mix{.causal = random.chance(0.4),
                .lengths = random.chance(0.3),
                .bias = random.chance(0.3),
                .window = random.chance(0.3),
                .alibi = random.chance(0.3)};
  const bool padded = random.chance(0.5);
  BackwardProblem p = backward_of(random_attention(random, format, mix, padded), normal(random), any_mode(random));
  if (p.mode == BackwardMode::gradient || random.chance(0.5)) return p;
  const Draw off = normal(random, 3);
  p.o = like_output(p.forward, random.chance(0.5) ? Format::f32 : format, off);
  p.lse = filled(Format::f32, p.lse.shape, [&] { return random.chance(0.05) ? kInfinity : off(); });
  return p;
}

const std::vector<BackwardKind>& hard_backward_kinds() {
  static const std::vector<BackwardKind> kinds = {
      {"near_constant_values", near_constant_values},
      {"huge_lse", huge_lse},
      {"one_hot", one_hot},
      {"weights_above_one", weights_above_one},
      {"weights_below_everything", weights_below_everything},
      {"opposite_rows", opposite_rows},
      {"wild_exponents", wild_exponents},
  };
  return kinds;
}

}  // namespace flashproof::test
