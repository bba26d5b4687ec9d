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
    State part = chunk_state(run, exponentials, chunk);
    if (part.empty()) continue;
    const float of_chunk = endings.factor(part.frame, part.l, 0);
    for (float& x : part.o) x = endings.quotient(x, part.l, of_chunk);

    const float joined = Machine::max(part.frame, state.frame);
    const float added = machine.mul(part.l, exponentials.ratio(part.frame, joined, part.pull));
    const float kept = machine.mul(state.l, exponentials.ratio(state.frame, joined, state.pull));
    state.frame = joined;
    state.l = machine.add(added, kept);
    const float prepared = endings.factor(joined, state.l, 0);
    for (std::size_t c = 0; c < part.o.size(); ++c) {
      const float sum = machine.add(machine.mul(added, part.o[c]), machine.mul(kept, state.o[c]));
      state.o[c] = endings.quotient(sum, state.l, prepared);
    }
    state.pull += part.pull;
  }
  return normalised(std::move(state), endings);
}

}  // namespace flashproof::model
