// Chunks normalised on their own and joined as (C, L, O), normalised again (arithmetic.h, chunk_recap). No product is
// contracted with a sum.
#include "reference/model/attention/attention.h"

namespace flashproof::model {

Normalised run_recap(const RowRun& run) {
  Machine& machine = run.machine;
  Exponentials exponentials(machine, run.model.arithmetic.exponent, run.model.unit());
  Endings endings(machine, run.model.arithmetic, run.model.unit());
  State state = start(run);
  for (const std::int32_t chunk : run.chunks) {
    const auto [begin, end] = clipped(run, chunk);
    const float frame = largest_score(run.row, begin, end);
    if (frame == kMinusInf) continue;
    const double pull = run.row.pull_of(begin, end);
    const ChunkWeights weights = weigh(run, exponentials, begin, end, frame);
    const float l = sum_in_lanes(run, weights.summand);
    std::vector<float> o(state.o.size(), 0.0F);
    add_values(run, weights, o);
    unscale(run, o);
    const float of_chunk = endings.factor(frame, l, 0);
    for (float& x : o) x = endings.quotient(x, l, of_chunk);

    const float joined = Machine::max(frame, state.frame);
    const float added = machine.mul(l, exponentials.ratio(frame, joined, pull));
    const float kept = machine.mul(state.l, exponentials.ratio(state.frame, joined, state.pull));
    state.frame = joined;
    state.l = machine.add(added, kept);
    const float prepared = endings.factor(joined, state.l, 0);
    for (std::size_t c = 0; c < o.size(); ++c) {
      const float sum = machine.add(machine.mul(added, o[c]), machine.mul(kept, state.o[c]));
      state.o[c] = endings.quotient(sum, state.l, prepared);
    }
    state.pull += pull;
  }
  Normalised result{.o = std::move(state.o), .pull = state.pull};
  if (!state.empty()) result.lse = endings.lse(state.frame, state.l);
  return result;
}

}  // namespace flashproof::model
