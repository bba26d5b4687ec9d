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
    const auto [begin, end] = clipped(run, chunk);
    const float frame = largest_score(run.row, begin, end);
    if (frame == kMinusInf) continue;
    const double pull = run.row.pull_of(begin, end);
    const ChunkWeights weights = weigh(run, exponentials, begin, end, frame);
    const float chunk_sum = sum_in_lanes(run, weights.summand);
    std::vector<float> pv(state.o.size(), 0.0F);
    add_values(run, weights, pv);
    unscale(run, pv);

    const float joined = Machine::max(state.frame, frame);
    const float beta = exponentials.ratio(frame, joined, pull);
    const float kept = machine.mul(state.l, exponentials.ratio(state.frame, joined, state.pull));
    state.frame = joined;
    state.l = machine.add(kept, machine.mul(beta, chunk_sum));
    const float prepared = endings.factor(joined, state.l, 0);
    for (std::size_t c = 0; c < pv.size(); ++c) {
      const float sum = machine.add(machine.mul(kept, state.o[c]), machine.mul(beta, pv[c]));
      state.o[c] = endings.quotient(sum, state.l, prepared);
    }
    state.pull += pull;
  }
  Normalised result{.o = std::move(state.o), .pull = state.pull};
  if (!state.empty()) result.lse = endings.lse(state.frame, state.l);
  return result;
}

}  // namespace flashproof::model
