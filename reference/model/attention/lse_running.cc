// The running lse is the frame's floor, the accumulator is un-normalised, and nothing is divided (arithmetic.h, lse_running).
#include "reference/model/attention/attention.h"

namespace flashproof::model {

Normalised run_lse_running(const RowRun& run) {
  Machine& machine = run.machine;
  Exponentials exponentials(machine, run.model.arithmetic.exponent, run.model.unit());
  Endings endings(machine, run.model.arithmetic, run.model.unit());
  Normalised result{.o = std::vector<float>(static_cast<std::size_t>(run.model.problem.value_dim()), 0.0F)};
  float frame = kMinusInf;
  if (run.with_sink) {
    frame = result.lse = run.row.sink;
    result.pull = run.row.sink_pull;
  }
  for (const std::int32_t chunk : run.chunks) {
    const auto [begin, end] = clipped(run, chunk);
    const float largest = largest_score(run.row, begin, end);
    if (largest == kMinusInf) continue;
    const float risen = Machine::max(largest, result.lse);
    // What the old sum weighs moves lse, and o against it; what the old o weighs moves o alone.
    const float carried = exponentials.ratio(result.lse, risen, -1);
    const float alpha = exponentials.ratio(frame, risen, 1);
    frame = risen;
    for (float& o : result.o) o = machine.mul(o, alpha);
    const ChunkWeights weights = weigh(run, exponentials, begin, end, frame);
    add_values(run, weights, result.o);
    result.lse = endings.lse(frame, machine.add(carried, sum_in_lanes(run, weights.summand)));
    result.pull += run.row.pull_of(begin, end);
  }
  unscale(run, result.o);
  if (result.empty()) return result;
  const float factor = exponentials.weight(frame, result.lse, 1);
  for (float& o : result.o) o = machine.mul(o, factor);
  return result;
}

}  // namespace flashproof::model
