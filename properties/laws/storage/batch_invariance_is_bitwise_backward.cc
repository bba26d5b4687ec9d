// Where the contract says so, a part of the problem has the gradients that it has in the whole, bit by bit.
//
// dq_i is a sum over keys alone, dk_j and dv_j are sums over the queries of a group of heads alone, with lse and D of each
// query as they are stored. So: of a batch entry alone, and of a kv head with its group alone, dq, dk and dv; of one query
// head alone, and of the last queries alone, dq; of the last keys alone, dk and dv. Positions count from the bottom right,
// so that what stays sees what it saw. A kernel that is not deterministic is asked for its bounds.
#include "properties/laws/of_gradients.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/parts_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "batch_invariance_is_bitwise";

struct Alone {
  GradientSlice slice;
  std::string_view name;
  bool queries, keys;  // dq, and dk and dv, are those of the whole
};

std::vector<Alone> parts_of(const AttentionProblem& p, Random& random) {
  const GradientSlice all = whole_slice(p);
  const std::int64_t kv = random.integer(0, p.k_heads() - 1), h = random.integer(0, p.q_heads() - 1);
  GradientSlice batch = all, group = all, head = all, queries = all, keys = all, corner = all;
  corner.batches = batch.batches = {random.integer(0, p.batch() - 1)};
  corner.k_heads = group.k_heads = {kv};
  corner.q_heads = group.q_heads = group_of(p, kv);
  head.q_heads = {h};
  head.k_heads = {p.kv_head(h)};
  if (p.q_length() > 1) queries.first_query = random.integer(1, p.q_length() - 1);
  if (p.k_length() > 1) keys.first_key = random.integer(1, p.k_length() - 1);
  std::vector<Alone> parts;
  if (p.batch() > 1) parts.push_back({batch, "a batch entry alone", true, true});
  if (p.k_heads() > 1) parts.push_back({group, "a kv head and its group alone", true, true});
  if (p.q_heads() > p.k_heads()) parts.push_back({head, "a query head alone", true, false});
  if (queries.first_query > 0) parts.push_back({queries, "the last queries alone", true, false});
  if (keys.first_key > 0) parts.push_back({keys, "the last keys alone", false, true});
  if (p.batch() > 1 && p.k_heads() > 1) parts.push_back({corner, "a group of a batch entry alone", true, true});
  return parts;
}

/// "" if the part's rows are those of the whole.
std::string unlike(Trial& trial, const GradientPart& part, const Alone& alone) {
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
  const AttentionProblem& forward = gradient_of(trial).forward;
  if (gradient_of(trial).query_rows() == 0 || gradient_of(trial).key_rows() == 0) {
    return {VerdictKind::vacuous, Failure::none, "no row"};
  }
  Random random = trial.random(kName);
  Comparison tally;
  for (const Alone& alone : parts_of(forward, random)) {
    const GradientPart part = slice_of(gradient_of(trial), alone.slice);
    if (!tally.taken(trial.refusal(part.problem))) continue;
    if (const std::string why = unlike(trial, part, alone); !why.empty()) {
      return {VerdictKind::fail, Failure::nondeterministic,
              why + ", " + std::string(alone.name) + " against the whole"};
    }
    tally.held();
  }
  return tally.verdict("one query and one key, they are alone already");
}

}  // namespace flashproof
