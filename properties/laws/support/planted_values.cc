#include "properties/laws/support/planted_values.h"

#include <cmath>
#include <limits>

#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof {
namespace {

double storable(Format format, double l) {
  if (!std::isfinite(l)) return l;
  const double rounded = round_to(format, l);
  return l > 0 && (rounded == 0 || !std::isfinite(rounded)) ? 1 : rounded;
}

/// o[n, r, c] = value(n, r, c), times what O is of o.
template <class Value>
void plant_states(MergeProblem& p, Value value) {
  if (p.has_l()) p.l = mapped(p.l, [&](double l) { return storable(p.o.format, l); });
  Tensor o = Tensor::dense(p.o.format, p.o.shape);
  for (std::int64_t n = 0; n < o.shape[0]; ++n) {
    for (std::int64_t r = 0; r < o.shape[1]; ++r) {
      const double l = p.has_l() ? p.l.at({n, r}) : 1;
      const double unit = std::isfinite(l) ? l : 1;
      for (std::int64_t c = 0; c < o.shape[2]; ++c) o.set({n, r, c}, value(n, c) * unit);
    }
  }
  p.o = std::move(o);
}

void plant_hot_columns(AttentionProblem& p) {
  Tensor v = mapped(p.v, [](double) { return 0.0; });
  const std::int64_t slots = v.shape[2], width = v.shape[3];
  for (std::int64_t b = 0; b < v.shape[0]; ++b) {
    for (std::int64_t h = 0; h < v.shape[1]; ++h) {
      for (std::int64_t j = 0; j < slots; ++j) v.set({b, h, j, (b * slots + j) % width}, 1.0);
    }
  }
  p.v = std::move(v);
}

}  // namespace

void plant_ones(Problem& problem) {
  if (auto* p = std::get_if<AttentionProblem>(&problem)) p->v = mapped(p->v, [](double) { return 1.0; });
  if (auto* p = std::get_if<MergeProblem>(&problem)) plant_states(*p, [](std::int64_t, std::int64_t) { return 1.0; });
}

void plant_one_hot(Problem& problem) {
  if (auto* p = std::get_if<AttentionProblem>(&problem)) plant_hot_columns(*p);
  if (auto* p = std::get_if<MergeProblem>(&problem)) {
    const std::int64_t width = p->o.shape[2];
    const bool apart = p->form == MergeForm::concat;
    plant_states(*p, [&](std::int64_t n, std::int64_t c) { return apart || n % width == c ? 1.0 : 0.0; });
  }
}

std::int64_t hot_column(const AttentionProblem& p, std::int64_t s, std::int64_t kv, std::int64_t j) {
  const std::int64_t offset = p.v_offset(s, kv, j);  // v is dense
  return (offset / p.v.stride[0] * p.v.shape[2] + offset / p.v.stride[2] % p.v.shape[2]) % p.v.shape[3];
}

Measured weight_of_keys(const RowWeights& weights, const Reading& reading) {
  if (weights.empty()) return exactly(0);
  if (!std::isfinite(weights.sink)) return exactly(1);
  if (reading.standing(Part::lse, weights.row, 0) != Standing::number) {
    return {1, std::numeric_limits<double>::infinity()};
  }
  return exactly(1) - share(exactly(weights.sink) - reading.lse(weights.row));
}

double value_factor(const Problem& problem, const RowWeights& weights) {
  const auto* p = std::get_if<AttentionProblem>(&problem);
  return p == nullptr ? 1 : AttentionProblem::descale(p->v_descale, weights.sequence, weights.kv_head);
}

Verdict relate_planted(Trial& trial, void (*plant)(Problem&), Scores scores,
                       void (*check)(const Problem& changed, const RowWeights& row, const Reading& reading,
                                     Comparison& tally)) {
  Problem changed = trial.problem();
  plant(changed);
  const bool planted = kind_of(changed) != ProblemKind::softmax;
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output output = planted ? trial.run(changed) : trial.output();
  const Bound bound = planted ? trial.bound_of(changed) : trial.bound();
  const Reading reading(output, bound, trial.contract());
  Comparison tally;
  for_each_row(changed, scores, [&](const RowWeights& row) { check(changed, row, reading, tally); });
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
