// Merges of states (o, lse) or (m, l, O), as a sum or side by side.
#include <algorithm>
#include <cmath>

#include "reference/model/combine.h"
#include "reference/model/problem_models.h"

namespace flashproof::model {

namespace {

/// One state of a row in visiting order. Side by side: its block among zeros, which every operation leaves alone, so that
/// the sum of the states is their concatenation.
State read_state(const MergeProblem& p, std::int32_t index, std::int64_t row) {
  const std::int64_t dv = p.o.shape[2];
  const bool concat = p.form == MergeForm::concat;
  State state{.frame = static_cast<float>(p.lse.at({index, row})), .l = 1.0F};
  if (p.has_l()) state.l = static_cast<float>(p.l.at({index, row}));
  state.o.assign(static_cast<std::size_t>(concat ? p.o.shape[0] * dv : dv), 0.0F);
  if (state.l == 0.0F) state.frame = kMinusInf;  // no weight at all
  if (state.empty()) return state;               // whatever its o holds
  for (std::int64_t c = 0; c < dv; ++c) {
    state.o[static_cast<std::size_t>(concat ? index * dv + c : c)] = static_cast<float>(p.o.at({index, row, c}));
  }
  return state;
}

/// As for attention: each state's share of the distance from the output, for a machine that aims.
void aim(std::vector<State>& states, std::int64_t column) {
  double largest = -HUGE_VAL;
  for (const State& s : states) largest = std::max<double>(largest, s.frame);
  double sum = 0;
  double weighted = 0;
  const auto at = static_cast<std::size_t>(column) % states[0].o.size();
  for (State& s : states) {
    s.pull = s.empty() ? 0 : std::exp(s.frame - largest);
    sum += s.pull * s.l;
    weighted += s.pull * s.o[at];
  }
  for (State& s : states) s.pull *= s.o[at] - s.l * (weighted / sum);
}

}  // namespace

void run(const MergeProblem& p, const Arithmetic& arithmetic, const Roundings& roundings, Output& output) {
  const Combination combination{arithmetic.reduction, arithmetic.merge_weights, arithmetic.lse_format, false, p.joins};
  for (std::int64_t row = 0; row < p.o.shape[1]; ++row) {
    Machine machine(arithmetic, roundings, static_cast<std::uint64_t>(row));
    std::vector<State> states;
    bool poisoned = false;
    for (const std::int32_t index : p.order) {
      states.push_back(read_state(p, index, row));
      const State& state = states.back();
      poisoned = poisoned || (!state.empty() && !(state.frame < HUGE_VALF && state.l < HUGE_VALF));
    }
    if (poisoned) {
      store(output, row, std::vector<float>(states[0].o.size(), kNan), kNan);
      continue;
    }
    if (machine.aims()) aim(states, roundings.column);
    Normalised result;
    if (arithmetic.merge_weights == MergeWeights::max_sum) {
      result = combine_sums(machine, arithmetic, combination, 1.0F, std::move(states));
    } else {
      std::vector<Normalised> normalised;
      normalised.reserve(states.size());
      for (State& s : states) normalised.push_back({.o = std::move(s.o), .lse = s.frame, .pull = s.pull});
      result = combine(machine, arithmetic, combination, std::move(normalised));
    }
    store(output, row, result.o, result.lse);
  }
}

}  // namespace flashproof::model
