// Weights e^(s - m) and rescale factors in the subnormal range of f32 (s - m in -88..-103), or of f16 (-10..-17, f16
// storage only), times |v| = 1e30 (f16: its largest) beside peak keys with v = 0: the answer is what the subnormal
// weights leave of it. A relative bound alone is wrong here, and a flush to zero shows. Softmax has the weights only.
#include <vector>

#include "properties/generators/build.h"

namespace flashproof::family::underflow_beside_huge {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .exact_scale = true});
  turn_scale(spec, problem);
  Random random = value_stream(spec);
  const Format format = format_of(problem);
  const bool half_weights = random.chance(0.5) && format == Format::f16;
  // At 0 or a level like -40: the shift must not matter.
  const double level = random.chance(0.5) ? 0 : random.uniform(-40, 40);

  // The peaks: at least one key and never all; the first and the last key differ, so that both orders occur.
  std::vector<bool> peak(static_cast<std::size_t>(length_of(problem)));
  const double share = random.uniform(0.05, 0.5);
  for (std::size_t j = 0; j < peak.size(); ++j) peak[j] = random.chance(share);
  const bool first = random.chance(0.5);
  if (!peak.empty()) {
    peak.front() = first;
    peak.back() = !first;
  }

  const auto row = [&](Random& r, const LogitSite&, std::span<double> logits) {
    for (std::size_t j = 0; j < logits.size(); ++j) {
      const double below = half_weights ? r.uniform(10, 17) : r.uniform(88, 104);
      logits[j] = peak[j] ? level : level - below;
    }
  };
  put_logits(problem, random, row);
  const double largest = format == Format::f16 ? 60000 : 1e30;
  put_values(problem, random, [&](Random& r, std::int64_t key, std::int64_t) {
    const double sign = random_sign(r);
    const double value = sign * largest * r.uniform(0.25, 1);
    return peak[static_cast<std::size_t>(key)] ? 0.0 : value;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::spread, .at_least = 9.7},
                                 {.field = &Difficulty::spread, .at_least = 86, .share = 0.6}};

}  // namespace

Family underflow_beside_huge() {
  return {"subnormal weights and rescale factors times |v| = 1e30, beside peaks with v = 0", kAll, make, kPromises,
          long_rows};
}

}  // namespace flashproof::family::underflow_beside_huge
