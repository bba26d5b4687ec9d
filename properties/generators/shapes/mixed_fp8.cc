// Keys and values of 8 bits beside queries of the case's format, with the descale factors that a quantiser makes: the largest
// number of a head stands near the largest of e4m3fn (no infinity, NaN in one pattern) or e5m2 (2 fraction bits).
#include "properties/generators/features.h"

namespace flashproof::family::mixed_fp8 {
namespace {

/// So that 7 standard deviations of a normal number stay below the largest finite one.
double amplitude(Format format) { return format == Format::e4m3fn ? 48 : 6144; }

Tensor factors(const AttentionProblem& p, Random& random, double around) {
  Tensor result = Tensor::dense(Format::f32, {p.sequences(), p.k_heads()});
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    result.set_bits(i, encode(Format::f32, around * random.uniform(0.5, 2)));
  }
  return result;
}

Case make(const CaseSpec& spec) {
  const ShapeWish wish{.causal_chance = 0.3, .ragged_chance = 0.3, .eight_bits = true};
  Problem problem = draw_shape(is_costly(spec) ? with_sequences(spec) : spec, with_descaled_tile(spec, wish));
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  const double size = amplitude(attention.k.format);
  const bool subnormal = !is_costly(spec) && random.chance(0.15);  // k and v among the least numbers of their format
  const double stored = subnormal ? 4 * min_subnormal(attention.k.format) : size;
  attention.k_descale = factors(attention, random, 1 / stored);
  attention.v_descale = factors(attention, random, 1 / stored);
  if (is_costly(spec) || random.chance(0.3)) attention.q_descale = factors(attention, random, 1);
  put_queries(attention, random, 1);
  const double limit = info(attention.k.format).max_finite;
  put_keys(attention, random, stored);
  put_values(problem, random,
             [=](Random& r, std::int64_t, std::int64_t) { return std::clamp(stored * r.normal(), -limit, limit); });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::least_bits, .at_most = 8}};

}  // namespace

Family mixed_fp8() {
  return {"k and v of 8 bits, descaled, beside a wider q", kAttentionOnly, make, kPromises, descaled_tiles};
}

}  // namespace flashproof::family::mixed_fp8
