// Subnormal numbers: a kernel or a compiler flag that flushes them to zero shows, and so does a relative error bound.
#include "properties/generators/build.h"

namespace flashproof::family::subnormal {
namespace {

// k 2^s with k of at most precision - 1 bits and s the spacing of the subnormals: subnormal, both signs, seldom 0.
double subnormal_of(Random& random, Format format) {
  const int bits = info(format).precision - 1;
  const auto few = static_cast<int>(random.integer(1, bits));
  const double sign = random_sign(random);
  return sign * static_cast<double>(random.integer(0, (std::int64_t{1} << few) - 1)) * min_subnormal(format);
}

void fill(Tensor& tensor, Random& random, std::int64_t visible, std::int64_t b) {
  for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
    for (std::int64_t i = 0; i < visible; ++i) {
      for (std::int64_t t = 0; t < tensor.shape[3]; ++t) tensor.set({b, h, i, t}, subnormal_of(random, tensor.format));
    }
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2});
  Random random = value_stream(spec);
  // merge and attention: subnormal v / o, subnormal logits, or both.
  const std::int64_t kind = random.integer(0, 2);
  const bool tiny_values = kind != 1;
  const bool tiny_logits = kind != 0 || spec.problem == ProblemKind::softmax;
  const Format format = format_of(problem);
  const Format logit_format = spec.problem == ProblemKind::softmax ? format : Format::f32;
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    put_queries(*attention, random, 1);
    put_keys(*attention, random, 1);
    for (std::int64_t b = 0; b < attention->batch() && tiny_logits; ++b) {
      fill(attention->k, random, attention->visible_length(b), b);
    }
  } else {
    put_logits(problem, random, [&](Random& r, const LogitSite&, std::span<double> logits) {
      for (double& logit : logits) logit = tiny_logits ? subnormal_of(r, logit_format) : r.normal();
    });
  }
  put_values(problem, random,
             [&](Random& r, std::int64_t, std::int64_t) { return tiny_values ? subnormal_of(r, format) : r.normal(); });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::subnormal_share, .at_least = 0.04}};

}  // namespace

Family subnormal() { return {"subnormal logits, q.k, v and partial outputs", kAll, make, kPromises}; }

}  // namespace flashproof::family::subnormal
