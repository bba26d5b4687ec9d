// Per-chunk frame and sum, the output normalised after every chunk (FlashAttention-1).
//
// Chunk: frame m̃, sum l̃ (lanes, then a butterfly), pv = Σ e^{s−m̃} v. Joining: m' = max(m, m̃), a = l·e^{m−m'},
// β = e^{m̃−m'}, l' = a + β·l̃, o' = (a·o + β·pv)/l' or times fl(1/l'). No product is contracted with a sum.
#include "reference/model/attention/attention.h"

namespace flashproof::model {

Normalised run_normalized(const RowRun& run) {
  Machine& machine = run.machine;
  Exponentials exponentials(machine, run.model.arithmetic.exponent, run.model.unit());
  Endings endings(machine, run.model.arithmetic, run.model.unit());
  State state = start(run);
  for (const std::int32_t chunk : run.chunks) {
    const State part = chunk_state(run, exponentials, chunk);
    if (part.empty()) continue;
    const float joined = Machine::max(state.frame, part.frame);
    const float beta = exponentials.ratio(part.frame, joined, part.pull);
    const float kept = machine.mul(state.l, exponentials.ratio(state.frame, joined, state.pull));
    state.frame = joined;
    state.l = machine.add(kept, machine.mul(beta, part.l));
    const float prepared = endings.factor(joined, state.l, 0);
    for (std::size_t c = 0; c < part.o.size(); ++c) {
      const float sum = machine.add(machine.mul(kept, state.o[c]), machine.mul(beta, part.o[c]));
      state.o[c] = endings.quotient(sum, state.l, prepared);
    }
    state.pull += part.pull;
  }
  return normalised(std::move(state), endings);
}

}  // namespace flashproof::model
