// q.k of huge terms that cancel: the score is of order 1 while sum |q_t k_t| is 2^12 times that and more (the idea of
// GenDot, Ogita, Rump & Oishi 2005). q is one number c per row times a power of two per component (the same in every
// row), k the pairs (a, -a) over a spread of exponents, permuted, and a residual in two components that makes the
// score.
//
// Traps: a power of two for c, or one exponent for all a, would make every partial sum exact and the error zero.
#include <algorithm>
#include <vector>

#include "properties/generators/build.h"

namespace flashproof::family::cancelling_dot {
namespace {

constexpr std::int64_t kMinHeadDim = 4;

// A significand with several bits set, exact in every format: odd/128 in (1, 2).
double odd_number(Random& random) { return 1 + static_cast<double>(2 * random.integer(4, 59) + 1) / 128; }

std::vector<std::int64_t> permuted(Random& random, std::int64_t n) {
  std::vector<std::int64_t> axis(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < axis.size(); ++t) axis[t] = static_cast<std::int64_t>(t);
  for (std::size_t t = axis.size() - 1; t > 0; --t) {
    std::swap(axis[t], axis[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(t)))]);
  }
  return axis;
}

// One k row whose cancelling part has |a| in 2^lo..2^hi, before the division by the powers of two in q.
void put_key(AttentionProblem& problem, Random& random, std::int64_t b, std::int64_t h, std::int64_t j,
             std::span<const double> power, int lo, int hi) {
  const std::int64_t d = problem.head_dim();
  const std::vector<std::int64_t> axis = permuted(random, d);
  const std::int64_t pairs = (d - 2) / 2;
  const double scale = problem.scale == 0 ? 1 : std::abs(static_cast<double>(problem.scale));
  for (std::int64_t t = 0; t < d; ++t) {
    const std::int64_t at = axis[static_cast<std::size_t>(t)];
    double value = 0;
    if (t < 2 * pairs) {
      if (t % 2 == 1) continue;  // written with its partner
      const std::int64_t partner = axis[static_cast<std::size_t>(t + 1)];
      const double sign = random_sign(random);
      const double big = t == 0 ? pow2(hi) * random.uniform(1, 2) : magnitude(random, lo, hi);
      // Rounded before the powers of two go in, so that both halves are the same number.
      value = round_to(problem.k.format, sign * big);
      problem.k.set({b, h, j, partner}, -value / power[static_cast<std::size_t>(partner)]);
    } else {
      value = random.normal() / scale;
    }
    problem.k.set({b, h, j, at}, value / power[static_cast<std::size_t>(at)]);
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 1, .min_head_dim = kMinHeadDim, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  // f16 holds 2^15; its products have 22 bits and those of bf16 16, so 12 exponents of spread are what rounds in f32.
  const auto lo = static_cast<int>(random.integer(-2, 1));
  const auto hi = static_cast<int>(random.integer(12, 14));
  std::vector<double> power(static_cast<std::size_t>(attention.head_dim()));
  for (std::int64_t b = 0; b < attention.batch(); ++b) {
    for (double& p : power) p = pow2(static_cast<int>(random.integer(0, 3)));
    for (std::int64_t h = 0; h < attention.q_heads(); ++h) {
      for (std::int64_t i = 0; i < attention.q_length(); ++i) {
        const double sign = random_sign(random);
        const double c = sign * odd_number(random);
        for (std::int64_t t = 0; t < attention.head_dim(); ++t) {
          attention.q.set({b, h, i, t}, c * power[static_cast<std::size_t>(t)]);
        }
      }
    }
    for (std::int64_t h = 0; h < attention.k_heads(); ++h) {
      for (std::int64_t j = 0; j < attention.visible_length(b); ++j) put_key(attention, random, b, h, j, power, lo, hi);
    }
  }
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::condition, .at_least = 1024, .share = 0.95}};

}  // namespace

Family cancelling_dot() { return {"q.k of order 1 from terms of 2^12 and more", kAttentionOnly, make, kPromises}; }

}  // namespace flashproof::family::cancelling_dot
