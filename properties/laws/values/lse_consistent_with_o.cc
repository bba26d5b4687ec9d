// lse and o tell of the same weights. Softmax: o_j = e^{x_j − lse} and Σ o = 1. Attention and merge: one more key
// (state) of a known score z and value 1 where all other values are 0: o = e^{z − lse}, and 0 in a block of a
// concatenation that is not its own. z is the case's own lse as rounded to f32, so that the new one weighs about a half
// and neither side is small; a new key has k = 0 and z as its bias. The radius of lse goes through the exponential,
// nothing else is allowed.
#include <cmath>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof::law::lse_consistent_with_o {
namespace {

constexpr std::string_view kName = "lse_consistent_with_o";
constexpr std::string_view kTeeth[] = {"softmax.broken.tail_dropped",
                                       "attention.broken.lse_in_base_2",
                                       "attention.broken.old_maximum_forgotten",
                                       "attention.broken.maximum_of_many_rows",
                                       "attention.broken.last_tile_dropped",
                                       "merge.broken.merged_in_base_2",
                                       "merge.broken.misprinted_lse"};

Verdict of_columns(Trial& trial, const SoftmaxProblem& p) {
  const Reading base(trial.output(), trial.bound(), trial.contract());
  const auto rows = ordinary_rows(p);
  Comparison tally;
  for (std::int64_t r = 0; r < base.rows(); ++r) {
    if (rows[static_cast<std::size_t>(r)] == 0) continue;
    const Expected lse = expect(base, Part::lse, r, 0);
    if (lse.standing != Standing::number) continue;  // nothing visible
    const std::int64_t length = length_of(p, r);
    Measured sum;
    bool whole = true;
    for (std::int64_t c = 0; c < base.width(); ++c) {
      const double x = c < length ? p.x.at({r, c}) : -std::numeric_limits<double>::infinity();
      const Measured weight = std::isfinite(x) ? share(exactly(x) - lse.value) : exactly(0);
      compare(tally, base, Part::o, r, c, expect(weight), "against e^(x - lse)");
      whole = whole && base.standing(Part::o, r, c) == Standing::number;
      if (whole) sum = sum + base.o(r, c);
    }
    if (whole) tally.agree(sum, exactly(1), 0.25, [&] { return "the sum of o, row " + std::to_string(r); });
  }
  return tally.verdict("no row of ordinary numbers");
}

/// The case's own lse, 0 where it is no number.
std::vector<double> known_scores(Trial& trial) {
  const Reading base(trial.output(), trial.bound(), trial.contract());
  std::vector<double> z;
  for (std::int64_t r = 0; r < base.rows(); ++r) {
    const double lse = base.value(Part::lse, r, 0);
    z.push_back(std::isfinite(lse) ? lse : 0);
  }
  return z;
}

/// value(row) is the new one's value in a column that is its own.
template <class Own, class Value>
Verdict of_values(Trial& trial, const Problem& changed, const std::vector<double>& z, Own own, Value value) {
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  const Reading computed(output, bound, trial.contract());
  const auto rows = ordinary_rows(changed);
  Comparison tally;
  for (std::int64_t r = 0; r < computed.rows(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    const Expected lse = expect(computed, Part::lse, r, 0);
    if (rows[row] == 0 || lse.standing == Standing::excused) continue;
    if (lse.standing == Standing::special) {
      tally.fail(Failure::class_mismatch,
                 place_of(Part::lse, r, 0) + ": no number, though a key of a finite score is visible");
      continue;
    }
    const Measured weight = share(exactly(z[row]) - lse.value) * exactly(value(r));
    for (std::int64_t c = 0; c < computed.width(); ++c) {
      const Expected o = expect(own(c) ? weight : exactly(0));
      compare(tally, computed, Part::o, r, c, o, "of one value of 1 against e^(its score - lse)");
    }
  }
  return tally.verdict("no row of ordinary numbers");
}

Verdict of_states(Trial& trial, MergeProblem p) {
  const auto z = known_scores(trial);
  Random random = trial.random(kName);
  const auto states = static_cast<std::int64_t>(p.order.size());
  const auto place = static_cast<std::size_t>(random.integer(0, states));
  p.o = mapped(p.o, [](double) { return 0.0; });
  insert_state(p, place, [&](std::int64_t row) { return z[static_cast<std::size_t>(row)]; }, 1, 1);
  const std::int64_t first = p.form == MergeForm::concat ? states * p.o.shape[2] : 0;  // the last in storage
  return of_values(trial, p, z, [&](std::int64_t c) { return c >= first; }, [](std::int64_t) { return 1.0; });
}

Verdict of_keys(Trial& trial, AttentionProblem p) {
  if (std::string why = without_positions(p, false); !why.empty()) return unsupported(why);
  if (p.k_length() == 0) return vacuous("no keys");
  const auto z = known_scores(trial);
  Random random = trial.random(kName);
  p.v = mapped(p.v, [](double) { return 0.0; });
  const std::int64_t j = insert_keys(p, static_cast<int>(random.integer(0, p.plan.chunks())), 1, 0, 1);
  std::vector<double> factor(z.size(), 1);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    p.bias.set({s, h, i, j}, z[static_cast<std::size_t>(row)]);
    factor[static_cast<std::size_t>(row)] = AttentionProblem::descale(p.v_descale, s, p.kv_head(h));
  });
  return of_values(
      trial, p, z, [](std::int64_t) { return true; },
      [&](std::int64_t row) { return factor[static_cast<std::size_t>(row)]; });
}

Verdict relate(Trial& trial) {
  const Problem& problem = trial.problem();
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) return of_columns(trial, *p);
  if (const auto* p = std::get_if<MergeProblem>(&problem)) return of_states(trial, *p);
  return of_keys(trial, std::get<AttentionProblem>(problem));
}

}  // namespace

Law lse_consistent_with_o() { return {"a key of score z and value 1 among zeros: o = e^(z - lse)", kTeeth, relate}; }

}  // namespace flashproof::law::lse_consistent_with_o
