// Running frame, un-normalised accumulator, one ending (FlashAttention-2 and later).
//
// Per chunk: f' = max(f, max s), or f as long as the maximum exceeds it by at most lazy_log2 octaves; α = e^{f − f'};
// every lane l = fl(l·α), then its keys; acc = fl(acc·α), then the products. Lanes are added by a butterfly at the end.
#include "reference/model/attention/attention.h"
#include "reference/model/products.h"

namespace flashproof::model {

namespace {

bool rises(const RowRun& run, const Exponentials& exponentials, float frame, float largest) {
  const int lazy = run.model.arithmetic.lazy_log2;
  if (frame == kMinusInf || lazy == 0) return largest > frame;
  return run.machine.mul(run.machine.sub(largest, frame), exponentials.factor()) > static_cast<float>(lazy);
}

void add_to_lanes(const RowRun& run, const ChunkWeights& weights, std::vector<float>& lanes) {
  const auto at = [&](std::size_t j) {
    return static_cast<std::size_t>(
        lane_at(run.model.arithmetic, static_cast<std::int64_t>(j), static_cast<int>(lanes.size())));
  };
  if (run.model.arithmetic.running_lanes) {
    for (std::size_t j = 0; j < weights.summand.size(); ++j) {
      lanes[at(j)] = run.machine.add(lanes[at(j)], weights.summand[j]);
    }
    return;
  }
  std::vector<float> added(lanes.size(), 0.0F);
  for (std::size_t j = 0; j < weights.summand.size(); ++j) {
    added[at(j)] = run.machine.add(added[at(j)], weights.summand[j]);
  }
  for (std::size_t t = 0; t < lanes.size(); ++t) lanes[t] = run.machine.add(lanes[t], added[t]);
}

}  // namespace

State run_deferred(const RowRun& run) {
  Exponentials exponentials(run.machine, run.model.arithmetic.exponent, run.model.unit());
  State state = start(run);
  std::vector<float> lanes(static_cast<std::size_t>(run.model.arithmetic.lanes), 0.0F);
  lanes[0] = state.l;
  for (const std::int32_t chunk : run.chunks) {
    const auto [begin, end] = clipped(run, chunk);
    const float largest = largest_score(run.row, begin, end);
    if (largest == kMinusInf) continue;
    const float frame = rises(run, exponentials, state.frame, largest) ? largest : state.frame;
    const float alpha = exponentials.ratio(state.frame, frame, state.pull);
    state.frame = frame;
    for (float& lane : lanes) lane = run.machine.mul(lane, alpha);
    for (float& o : state.o) o = run.machine.mul(o, alpha);
    const ChunkWeights weights = weigh(run, exponentials, begin, end, frame);
    add_to_lanes(run, weights, lanes);
    add_values(run, weights, state.o);
    state.pull += run.row.pull_of(begin, end);
  }
  state.l = butterfly(run.machine, lanes);
  unscale(run, state.o);
  return state;
}

}  // namespace flashproof::model
