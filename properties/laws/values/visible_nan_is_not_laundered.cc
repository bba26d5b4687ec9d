// A NaN in q, k, x, lse or l of what a row sees makes its o and lse NaN, and so does a score of +inf; a NaN in v, or in o
// of a state, makes that column NaN, in a row that is in the kernel's domain; every other row keeps its bits, or, where the kernel does not declare itself deterministic, its numbers within both bounds. Also where the NaN is the only visible score, or
// stands beside −inf alone, in the first and the last key, and where all of a chunk is NaN (plant.h).
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/plant.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/problem/fields.h"

namespace flashproof::law::visible_nan_is_not_laundered {
namespace {

constexpr std::string_view kName = "visible_nan_is_not_laundered";
constexpr std::string_view kTeeth[] = {"attention.broken.nan_chunk_looks_empty", "attention.broken.nan_split_skipped",
                                       "attention_backward.broken.nan_row_sum_taken_for_zero"};
constexpr int kTurns = 4;

void pack_together(SoftmaxProblem& p) { p.x = packed_together(p.x); }
void pack_together(MergeProblem& p) {
  for_each_tensor(p, [](const Field&, Tensor& t) { t = packed_together(t); });
}
void pack_together(AttentionProblem& p) {
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) *tensor = packed_together(*tensor);
  if (p.has_bias()) p.bias = packed_together(p.bias);
}

/// Half of the cases that have no bias get one of zeros, where the kernel takes one, so that scores can be planted.
void add_bias(Problem& problem, const Trial& trial, Random& random) {
  auto* p = std::get_if<AttentionProblem>(&problem);
  if (p == nullptr || p->has_bias() || p->packed() || random.chance(0.5)) return;
  AttentionProblem with = *p;
  with.bias = dense_bias(*p);
  if (trial.refusal(with).empty()) *p = std::move(with);
}

/// Rows whose weights are in the domain of the kernel.
std::vector<std::uint8_t> rows_in_domain(const Bound& bound) {
  std::vector<std::uint8_t> rows;
  rows.reserve(bound.domain.size());
  for (const RowDomain& domain : bound.domain) rows.push_back(domain.holds() ? 1 : 0);
  return rows;
}

Planted plant(const Problem& problem, std::int64_t turn, Random& random, const Contract& contract,
              std::span<const std::uint8_t> in_domain) {
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
    return planted(*p, turn, random, contract.isolates_hidden, in_domain);
  }
  if (const auto* p = std::get_if<MergeProblem>(&problem)) {
    return planted(*p, turn, random, contract.semantics.inf_state == InfiniteState::nan, in_domain);
  }
  return planted(std::get<SoftmaxProblem>(problem), turn, random);
}

/// For a row that sees none of it.
std::string elsewhere(const Planted& planted) {
  if (planted.plants.empty()) return "nothing";
  std::string text = to_string(planted.plants[0]);
  if (planted.plants.size() > 1) text += fmt::format("; {} places in all", planted.plants.size());
  return text;
}

/// The run as given and the one with something planted. What sees nothing of it has the bound of the problem as given in both.
struct Runs {
  const Output& before;
  const Output& after;
  const Bound& bound;
  const Contract& contract;
};

/// Counts the NaNs that had to be, where there were none before. `unseen` is told of elements that see nothing of what was
/// planted, where the bits of two runs may differ.
void compare(Comparison& tally, Comparison& unseen, const Runs& runs, const Planted& planted, Part part) {
  const std::vector<Expect>& expect = part == Part::lse ? planted.lse : planted.o;
  const Tensor& given = part == Part::lse ? runs.before.lse : runs.before.o;
  const Tensor& changed = part == Part::lse ? runs.after.lse : runs.after.o;
  const std::int64_t width = part == Part::lse ? 1 : runs.bound.width;
  const Reading computed(runs.after, runs.bound, runs.contract), expected(runs.before, runs.bound, runs.contract);
  for (std::int64_t i = 0; i < given.elements(); ++i) {
    const Expect wanted = expect[static_cast<std::size_t>(i)];
    const double before = decode(given.format, given.bits(i)), after = decode(changed.format, changed.bits(i));
    const auto where = [&] { return place_of(part, i / width, i % width); };
    const auto seen = [&] {  // by its row
      const std::int32_t plant = planted.seen[static_cast<std::size_t>(i / width)];
      return plant < 0 ? std::string("what was planted") : to_string(planted.plants[static_cast<std::size_t>(plant)]);
    };
    if (wanted == Expect::nan) {
      if (!std::isnan(after)) {
        tally.fail(Failure::laundering, fmt::format("{}: {}, sees {}", where(), after, seen()));
      } else if (!std::isnan(before)) {
        tally.held();
      }
    } else if (wanted == Expect::nothing && !std::isnan(after) && after != 0) {
      tally.fail(Failure::class_mismatch,
                 fmt::format("{}: {}, neither 0 nor NaN, in a row that sees {}", where(), after, seen()));
    } else if (wanted != Expect::same || given.bits(i) == changed.bits(i) ||
               (std::isnan(before) && std::isnan(after))) {
      continue;
    } else if (!runs.contract.deterministic) {
      compare_answers(unseen, computed, expected, part, i / width, i % width, i / width);
    } else {
      tally.fail(Failure::leak, fmt::format("{}: {} against {}, sees nothing of what was planted ({})", where(), after,
                                            before, elsewhere(planted)));
    }
  }
}

Verdict relate(Trial& trial) {
  if (trial.contract().semantics.nan_o == NanOutput::any) {
    return unsupported("the kernel declares nothing of rows that see NaN");
  }
  const OutputShape shape = output_shape(trial.problem());
  if (shape.rows == 0) return vacuous("no row");
  Random random = trial.random(kName);
  Problem given = trial.problem();
  visit_forward([](auto& p) { pack_together(p); }, given);
  add_bias(given, trial, random);
  if (std::string why = trial.refusal(given); !why.empty()) return unsupported(std::move(why));
  const Output before = trial.run(given);
  const std::int64_t start = random.integer(0, kPlants - 1);
  const Bound bound = trial.bound_of(given);
  const std::vector<std::uint8_t> in_domain = rows_in_domain(bound);
  Comparison tally;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Planted planted = plant(given, start + turn, random, trial.contract(), in_domain);
    const Output after = trial.run(planted.problem);
    Comparison unseen;
    for (const Part part : {Part::lse, Part::o})
      compare(tally, unseen, {before, after, bound, trial.contract()}, planted, part);
    if (const Verdict leak = unseen.verdict(""); leak.failed()) {
      tally.fail(Failure::leak, leak.detail + ", sees nothing of what was planted (" + elsewhere(planted) + ")");
    }
  }
  return tally.verdict("no row sees anything, or all are NaN as given");
}

}  // namespace

Law visible_nan_is_not_laundered() {
  return {"a NaN that a row or a pair sees makes its outputs and gradients NaN, and no other", kTeeth, relate,
          visible_nan_of_gradients};
}

}  // namespace flashproof::law::visible_nan_is_not_laundered
