// Huge magnitudes. Differences of logits overflow or are 0, dot products near the accumulator's largest number,
// v near the format's largest. Part of the attention rows have one key that dominates by a wide gap, so that the answer
// is that key's v however large the error of a score is: else every such case would be vacuous.

#include "properties/generators/build.h"
#include "properties/generators/keys.h"

namespace flashproof::family::huge {
namespace {

int top_exponent(double largest) { return exponent_of(largest); }

void huge_row(Random& random, const LogitSite& site, std::span<double> logits) {
  const int top = top_exponent(site.max_logit);
  const std::int64_t kind = random.integer(0, 3);
  const double sign = random_sign(random);
  const double offset = random.uniform(1e3, 6e4);
  const auto spike = random.integer(0, std::max<std::int64_t>(std::ssize(logits) - 1, 0));
  for (std::int64_t j = 0; j < std::ssize(logits); ++j) {
    double& logit = logits[static_cast<std::size_t>(j)];
    switch (kind) {
      case 0:  // mixed signs, 1e3 to the top
        logit = random_sign(random);
        logit *= magnitude(random, 10, top - 1);
        break;
      case 1:  // within a few spacings of ±top: differences are 0 or enormous
        logit = sign *
                (site.max_logit - static_cast<double>(random.integer(0, 3)) * spacing(site.max_logit, site.precision));
        break;
      case 2:  // a large common offset
        logit = sign * offset + 3 * random.normal();
        break;
      default:  // one key at the top, all others at the bottom: x - max overflows
        logit = j == spike ? site.max_logit : -magnitude(random, top - 2, top - 1);
        break;
    }
  }
}

// q rows are near one common direction u, one key per head is 4u: it wins in every row by about 3 |u|^2 scale.
void put_dominated(AttentionProblem& problem, Random& random, int exponent) {
  put_keys(problem, random, pow2(exponent));
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t t = 0; t < problem.head_dim(); ++t) {
      const double sign = random_sign(random);
      const double component = sign * magnitude(random, exponent, exponent);
      for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
        for (std::int64_t i = 0; i < problem.q_length(); ++i) {
          problem.q.set({b, h, i, t}, component * random.uniform(0.75, 1.25));
        }
      }
      for (std::int64_t h = 0; h < problem.k_heads() && problem.visible_length(b) > 0; ++h) {
        // The first key is visible to every row that sees anything, also under a causal mask.
        problem.k.set({b, h, 0, t}, (problem.scale < 0 ? -4 : 4) * component);
      }
    }
  }
}

void put_attention(AttentionProblem& problem, Random& random) {
  // Exponents such that the products stay in f32, or just leave it. f16: at most 2^11, of which 4u is 2^14.
  const bool narrow = problem.q.format == Format::f16;
  const bool dominated = random.chance(0.7);
  const std::int64_t moderate = random.integer(5, 28);
  const std::int64_t extreme = random.integer(50, 60);
  const auto exponent = static_cast<int>(dominated ? moderate : extreme);
  if (dominated) {
    put_dominated(problem, random, narrow ? 5 + (exponent - 5) * 6 / 23 : exponent);
  } else {
    const double amplitude = pow2(narrow ? 12 : exponent);
    put_queries(problem, random, amplitude);
    put_keys(problem, random, amplitude);
  }
}

/// Scores whose partial sums leave f32 downwards although the scores themselves are moderate: a key that is dropped for it
/// is lost in silence. (No sum of f16 products can leave f32; there the scores are merely tiny.)
void put_partial_overflow(AttentionProblem& problem, Random& random) {
  put_queries(problem, random, pow2(top_exponent(info(problem.q.format).max_finite) - 3));
  put_keys(problem, random, 1);
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = 0; j < problem.visible_length(b); ++j) {
        for (std::int64_t c = 0; c < problem.head_dim(); ++c) {
          problem.k.set({b, h, j, c}, (c % 2 == 0 ? -1 : 1) * random.uniform(8, 16));
        }
      }
    }
  }
  problem.scale = 0x1p-126F;
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2});
  turn_scale(spec, problem);
  Random random = value_stream(spec);
  const bool huge_scores = random.chance(0.65);
  const bool to_the_top = random.chance(0.3);
  const bool one_sign = random.chance(0.3);
  const bool partial = random.chance(0.15);
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    if (partial && !text_key(spec, "scale")) {
      put_partial_overflow(*attention, random);
    } else if (huge_scores) {
      put_attention(*attention, random);
    } else {
      put_queries(*attention, random, 1);
      put_keys(*attention, random, 1);
    }
  } else {
    put_logits(problem, random, huge_row);
  }
  const Format format = format_of(problem);
  const int top = top_exponent(info(format).max_finite);
  // top - 9: sums of 256 of them stay in f32's range (f16 is summed in f32 anyway, and has no room below).
  const int hi = to_the_top || format == Format::f16 ? top : top - 9;
  const int lo = std::max(10, hi - 12);  // 1e3 at least
  put_values(problem, random, [&](Random& r, std::int64_t, std::int64_t) {
    const double sign = one_sign ? 1.0 : random_sign(r);
    return clamp_to(format, sign * magnitude(r, lo, hi));
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {
    {.field = &Difficulty::largest_logit, .at_least = 900, .share = 0.9, .only = ProblemKind::softmax},
    {.field = &Difficulty::largest_logit, .at_least = 900, .share = 0.9, .only = ProblemKind::merge},
    {.field = &Difficulty::largest_logit, .at_least = 900, .share = 0.5, .only = ProblemKind::attention},
    {.field = &Difficulty::near_max_share, .at_least = 1e-3, .share = 0.4, .only = ProblemKind::attention}};

}  // namespace

Family huge() { return {"magnitudes from 1e3 to the largest finite number", kAll, make, kPromises, long_rows}; }

}  // namespace flashproof::family::huge
