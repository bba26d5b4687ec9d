// A staircase whose steps stand just below and just above a threshold of lazy rescaling: 8 octaves (FlashAttention-4), 8,
// 4 and 1 nats and octaves, and the head-room of P in f16 (65504) and e4m3fn (448). Measured from the frame that a lazy
// kernel keeps: a step below leaves the frame, so weights up to the threshold's exponential meet the sums; a step above
// moves it.
#include "properties/generators/build.h"

namespace flashproof::family::rescale_threshold {
namespace {

constexpr int kMostSteps = 6;  // upwards, so that the format still resolves the step

void step_row(Random& random, const LogitSite& site, std::span<double> logits) {
  const double threshold = pick(random, kRescaleThresholds);
  const std::int64_t off = random.integer(1, 3);
  double frame = -0.5 * kMostSteps * threshold * random.uniform(0.5, 1);
  for (int visit = 0, steps = 0; visit < site.plan.chunks(); ++visit) {
    const KeyRange chunk = visited_chunk(site.plan, visit);
    const double edge = frame + threshold;
    const double close = std::max(spacing(edge, site.precision) * static_cast<double>(off), pow2(-10));
    const bool above = random.chance(0.5) && steps < kMostSteps;
    const double top = visit == 0 ? frame : above ? edge + close : edge - close;
    if (above && visit > 0) {
      frame = top;
      ++steps;
    }
    const std::int64_t peak = random.integer(chunk.begin, chunk.end - 1);
    for (std::int64_t j = chunk.begin; j < chunk.end; ++j) {
      const double below = random.uniform(0, 2 * threshold);
      logits[static_cast<std::size_t>(j)] = j == peak ? top : top - below;
    }
  }
}

Case make(const CaseSpec& spec) {
  return with_rows(spec, {.min_length = 2, .min_chunks = 2, .exact_scale = true}, step_row, {.noise = 0});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::threshold_below, .at_most = 0.005, .share = 0.7},
                                 {.field = &Difficulty::threshold_above, .at_most = 0.005, .share = 0.6}};

}  // namespace

Family rescale_threshold() {
  return {"steps just below and above the thresholds of lazy rescaling", kAll, make, kPromises};
}

}  // namespace flashproof::family::rescale_threshold
