// The running maximum rises a little at every visited key, or nearly: as many rescales as there are chunks, as many
// updates as there are keys. An update that is wrong by a rounding each time adds up; steps are from far below one
// spacing of the weights to half a nat.
#include "properties/generators/build.h"

namespace flashproof::family::ramp {
namespace {

constexpr double kLongest = 60;  // nats from the first key to the last

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .min_chunks = 2, .exact_scale = true});
  Random random = value_stream(spec);
  const auto keys = static_cast<double>(std::max<std::int64_t>(length_of(problem), 1));
  const double step = std::min(magnitude(random, -9, -2), kLongest / keys);
  // Centred at 0, where the format has the finest spacing; now and then beside it.
  const double offset = random.chance(0.3) ? random.uniform(-40, 40) : 0;
  const auto row = [=](Random&, const LogitSite& site, std::span<double> logits) {
    double at = offset - 0.5 * step * static_cast<double>(logits.size());
    for (int visit = 0; visit < site.plan.chunks(); ++visit) {
      const KeyRange chunk = visited_chunk(site.plan, visit);
      for (std::int64_t j = chunk.begin; j < chunk.end; ++j) logits[static_cast<std::size_t>(j)] = at += step;
    }
  };
  return with_rows(spec, std::move(problem), random, row, {.noise = 0});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::rising_keys, .at_least = 0.2, .share = 0.85},
                                 {.field = &Difficulty::spread, .at_most = 70}};

}  // namespace

Family ramp() { return {"every visited key raises the maximum a little", kAll, make, kPromises}; }

}  // namespace flashproof::family::ramp
