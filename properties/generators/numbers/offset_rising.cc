// A large common offset and block maxima that rise from chunk to chunk by a little: the rounding of s - m, of m itself and
// of a fused m log2(e) is in proportion to |m|, and at every rise another one enters. Offsets of either sign.
#include "properties/generators/build.h"

namespace flashproof::family::offset_rising {
namespace {

constexpr double kOffsets[] = {100, 300, 1e3, 3e3, 1e4, 3e4, 6e4, 1e6};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .min_chunks = 2, .exact_scale = true});
  Random random = value_stream(spec);
  const double sign = random_sign(random);
  const double step = magnitude(random, -4, 1);
  const auto row = [=](Random& r, const LogitSite& site, std::span<double> logits) {
    double offset = pick(r, kOffsets);
    while (offset > 0.5 * site.max_logit) offset = pick(r, kOffsets);
    const double unit = std::max(spacing(offset, site.precision), step);  // a rise that the format can hold
    for (int visit = 0; visit < site.plan.chunks(); ++visit) {
      const KeyRange chunk = visited_chunk(site.plan, visit);
      const double top = sign * offset + unit * visit;
      const std::int64_t peak = r.integer(chunk.begin, chunk.end - 1);
      for (std::int64_t j = chunk.begin; j < chunk.end; ++j) {
        const double below = unit * r.uniform(0, 4);
        logits[static_cast<std::size_t>(j)] = j == peak ? top : top - below;
      }
    }
  };
  return with_rows(spec, std::move(problem), random, row, {.noise = 0});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::largest_logit, .at_least = 99},
                                 {.field = &Difficulty::rises, .at_least = 1, .share = 0.85}};

}  // namespace

Family offset_rising() {
  return {"offsets of 100 to 1e6, and a maximum that rises by a little per chunk", kAll, make, kPromises};
}

}  // namespace flashproof::family::offset_rising
