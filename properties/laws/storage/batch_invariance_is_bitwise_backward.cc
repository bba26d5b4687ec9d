// Where the contract says so, a part of the problem has the gradients that it has in the whole, bit by bit.
//
// dq_i is a sum over keys alone, dk_j and dv_j are sums over the queries of a group of heads alone, with lse and D of each
// query as they are stored. So: of a batch entry alone, and of a kv head with its group alone, dq, dk and dv; of one query
// head alone, and of the last queries alone, dq; of the last keys alone, dk and dv. Positions count from the bottom right,
// so that what stays sees what it saw. A kernel that is not deterministic is asked for its bounds.
#include <optional>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/fewest.h"
#include "properties/laws/support/parts_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "batch_invariance_is_bitwise";

struct Alone {
  GradientPart part;
  std::string_view name;
  bool queries, keys;  // dq, and dk and dv, are those of the whole
};

std::vector<Alone> parts_of(Trial& trial, Random& random) {
  const BackwardProblem& problem = gradient_of(trial);
  const AttentionProblem& p = problem.forward;
  const GradientSlice all = whole_slice(p);
  const std::int64_t per_group = p.q_heads() / p.k_heads();
  const auto part_of = [&](const GradientSlice& slice, std::string_view name, bool queries, bool keys) {
    return Alone{slice_of(problem, slice), name, queries, keys};
  };
  const auto if_taken = [&](Alone part) -> std::optional<Alone> {
    if (!trial.refusal(part.part.problem).empty()) return std::nullopt;
    return part;
  };
  std::vector<Alone> parts;
  const auto add = [&](std::optional<Alone> part) {
    if (part) parts.push_back(std::move(*part));
  };
  GradientSlice corner = all;
  add(fewest(p.batch(), random, [&](std::int64_t first, std::int64_t count) {
    GradientSlice slice = all;
    corner.batches = slice.batches = neighbours(first, count);
    return if_taken(part_of(slice, "some batch entries alone", true, true));
  }));
  add(fewest(p.k_heads(), random, [&](std::int64_t first, std::int64_t count) {
    GradientSlice slice = all;
    corner.k_heads = slice.k_heads = neighbours(first, count);
    corner.q_heads = slice.q_heads = neighbours(first * per_group, count * per_group);
    return if_taken(part_of(slice, "some kv heads and their groups alone", true, true));
  }));
  if (per_group > 1) {
    GradientSlice slice = all;
    slice.q_heads = {random.integer(0, p.q_heads() - 1)};
    slice.k_heads = {p.kv_head(slice.q_heads[0])};
    parts.push_back(part_of(slice, "a query head alone", true, false));
  }
  add(fewest(p.q_length(), random, [&](std::int64_t first, std::int64_t count) {
    GradientSlice slice = all;
    slice.first_query = first > 0 ? first : p.q_length() - count;
    return if_taken(part_of(slice, "the last queries alone", true, false));
  }));
  add(fewest(p.k_length(), random, [&](std::int64_t first, std::int64_t count) {
    GradientSlice slice = all;
    slice.first_key = first > 0 ? first : p.k_length() - count;
    return if_taken(part_of(slice, "the last keys alone", false, true));
  }));
  if (parts.empty() && p.q_length() > 1) {  // refused: that is the reason
    GradientSlice slice = all;
    slice.first_query = 1;
    parts.push_back(part_of(slice, "the last queries alone", true, false));
  }
  if (p.batch() > 1 && p.k_heads() > 1) parts.push_back(part_of(corner, "a group of a batch entry alone", true, true));
  return parts;
}

/// "" if the part's rows are those of the whole.
std::string unlike(Trial& trial, const Alone& alone) {
  const GradientPart& part = alone.part;
  const Output gradients = trial.run(part.problem);
  const auto rows = [&](Part of) -> const std::vector<std::int64_t>& {
    return of == Part::dq ? part.query_row : part.key_row;
  };
  const auto asked = [&](Part of) { return of == Part::dq ? alone.queries : alone.keys; };
  if (trial.contract().deterministic) {
    for (const Part of : kGradientParts) {
      const auto& whole = of == Part::dq ? trial.output().dq : of == Part::dk ? trial.output().dk : trial.output().dv;
      const auto& alone_tensor = of == Part::dq ? gradients.dq : of == Part::dk ? gradients.dk : gradients.dv;
      for (std::size_t r = 0; asked(of) && r < rows(of).size(); ++r) {
        std::string why = row_difference(of, alone_tensor, static_cast<std::int64_t>(r), whole, rows(of)[r]);
        if (!why.empty()) return why;
      }
    }
    return {};
  }
  const Bound bound = trial.bound_of(part.problem);
  const GradientReading computed(gradients, bound), expected(trial.output(), trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  Comparison tally;
  for (const Part of : kGradientParts) {
    if (!asked(of)) continue;
    same_rows(tally, of, computed, expected, rows(of), of == Part::dq ? ordinary.query : ordinary.key,
              "within both bounds");
  }
  const Verdict verdict = tally.verdict("");
  return verdict.failed() ? verdict.detail : "";
}

}  // namespace

Verdict batch_invariance_of_gradients(Trial& trial) {
  if (!trial.contract().batch_invariant) return unsupported("the kernel declares itself not batch invariant");
  if (gradient_of(trial).query_rows() == 0 || gradient_of(trial).key_rows() == 0) return vacuous("no row");
  Random random = trial.random(kName);
  Comparison tally;
  for (const Alone& alone : parts_of(trial, random)) {
    if (!tally.taken(trial.refusal(alone.part.problem))) continue;
    if (const std::string why = unlike(trial, alone); !why.empty()) {
      return {VerdictKind::fail, Failure::nondeterministic,
              why + ", " + std::string(alone.name) + " against the whole"};
    }
    tally.held();
  }
  return tally.verdict("one query and one key, they are alone already");
}

}  // namespace flashproof
