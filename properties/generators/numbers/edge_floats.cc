// Edge exponents times significand patterns (edge_float.h) for x, lse, o, q, k, v: subnormals beside numbers near 1 beside
// large ones, significands of all ones and of one bit, both zeros. One case has an upper end for all its exponents, so that
// part of them stays inside every kernel's domain.
#include "properties/generators/build.h"
#include "properties/generators/edge_float.h"

namespace flashproof::family::edge_floats {
namespace {

constexpr int kMostScore[] = {-20, 0, 2, 4, 6};  // e^88 is near 2^127
constexpr int kMostValue[] = {0, 10, 14, 100, 127};

void fill(Tensor& tensor, std::int64_t offset, Random& random, int most) {
  for (std::int64_t t = 0; t < tensor.shape[3]; ++t) {
    tensor.set_bits(offset + t * tensor.stride[3], encode(tensor.format, edge_float(random, tensor.format, most)));
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2, .ragged_chance = 0.1, .exact_scale = true});
  Random random = value_stream(spec);
  const int score = pick(random, kMostScore);
  const int value = pick(random, kMostValue);
  const Format format = format_of(problem);
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    // Halves of the exponent for q and k; d products of the largest add six octaves at most.
    for (std::int64_t b = 0; b < attention->batch(); ++b) {
      for (std::int64_t h = 0; h < attention->q_heads(); ++h) {
        for (std::int64_t i = 0; i < attention->q_length(); ++i) {
          fill(attention->q, attention->q_offset(b, h, i), random, score / 2);
        }
      }
      for (std::int64_t h = 0; h < attention->k_heads(); ++h) {
        for (std::int64_t j = 0; j < attention->visible_length(b); ++j) {
          fill(attention->k, attention->k_offset(b, h, j), random, score / 2);
        }
      }
    }
  } else {
    const Format of_logits = spec.problem == ProblemKind::merge ? Format::f32 : format;
    put_logits(problem, random, [=](Random& r, const LogitSite&, std::span<double> logits) {
      for (double& logit : logits) logit = edge_float(r, of_logits, score);
    });
  }
  put_values(problem, random, [=](Random& r, std::int64_t, std::int64_t) { return edge_float(r, format, value); });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::subnormal_share, .at_least = 0.1, .share = 0.8}};

}  // namespace

Family edge_floats() { return {"edge exponents times significand patterns in every tensor", kAll, make, kPromises}; }

}  // namespace flashproof::family::edge_floats
