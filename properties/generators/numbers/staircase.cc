// Block maxima that rise (staircase) or fall (descending) from chunk to chunk in the order of the visit. Rising: every
// chunk rescales what was summed before it, so a forgotten or wrong rescale shows. Falling: the running maximum is set
// once, and a kernel that takes the newest chunk's maximum for the running one shows.
#include "properties/generators/build.h"

namespace flashproof::family::staircase {
namespace {

constexpr int kChunks = 3;

template <int direction>
Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = kChunks, .min_chunks = kChunks, .exact_scale = true});
  Random random = value_stream(spec);
  // Log-uniform steps, 0.1 to 50. Steps under the spacing of the logits' format are lost in the rounding; the sum of
  // the steps is centred at 0 to keep that spacing small.
  const double step = std::min(magnitude(random, -3, 5) * 0.8, 50.0);
  const auto row = [=](Random& r, const LogitSite& site, std::span<double> logits) {
    const int chunks = site.plan.chunks();
    for (int visit = 0; visit < chunks; ++visit) {
      const double top = direction * step * (visit - 0.5 * (chunks - 1));
      const KeyRange chunk = visited_chunk(site.plan, visit);
      const std::int64_t peak = r.integer(chunk.begin, chunk.end - 1);
      for (std::int64_t j = chunk.begin; j < chunk.end; ++j) {
        const double below = r.uniform(0, 3);
        logits[static_cast<std::size_t>(j)] = j == peak ? top : top - below;
      }
    }
  };
  return with_rows(spec, std::move(problem), random, row, {.noise = step / 32});
}

constexpr Promise kRisingPromises[] = {{.field = &Difficulty::rises, .at_least = 2}};

constexpr Promise kFallingPromises[] = {{.field = &Difficulty::first_is_max, .at_least = 1},
                                        {.field = &Difficulty::rises, .at_most = 0}};

}  // namespace

Family staircase() {
  return {"the running maximum rises at every visited chunk", kAll, make<1>, kRisingPromises, long_rows};
}
Family descending() {
  return {"the maximum stands in the chunk visited first", kAll, make<-1>, kFallingPromises, long_rows};
}

}  // namespace flashproof::family::staircase
