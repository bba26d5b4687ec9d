// Keys in another order, and queries in another order: the same dq, dk and dv of each, within both bounds. dq is a sum over
// keys, dk and dv over queries, and each term is what it was. Where position means something (causal, window, ALiBi, lengths
// within a longer room) the order is not free: unsupported.

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "key_permutation_within_bound";

using Index = std::vector<std::int64_t>;

/// Where each one came from.
Index shuffled(Random& random, std::int64_t n) {
  Index from = iota(n);
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(from[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(random.integer(0, i))]);
  }
  return from;
}

/// For every row, the row that it came from: heads stay, within each the order is `from`.
Index rows_from(std::int64_t heads, const Index& from) {
  Index rows;
  const auto n = static_cast<std::int64_t>(from.size());
  for (std::int64_t head = 0; head < heads; ++head) {
    for (const std::int64_t i : from) rows.push_back(head * n + i);
  }
  return rows;
}

void compare(Trial& trial, const BackwardProblem& changed, const Index& queries, const Index& keys,
             std::string_view relation, Comparison& tally) {
  const AttentionProblem& f = gradient_of(trial).forward;
  const Output gradients = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  const GradientReading computed(gradients, bound), expected(trial.output(), trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  const Index query_rows = rows_from(f.batch() * f.q_heads(), queries);
  const Index key_rows = rows_from(f.batch() * f.k_heads(), keys);
  same_rows(tally, Part::dq, computed, expected, query_rows, ordinary.query, relation);
  same_rows(tally, Part::dk, computed, expected, key_rows, ordinary.key, relation);
  same_rows(tally, Part::dv, computed, expected, key_rows, ordinary.key, relation);
}

}  // namespace

Verdict key_permutation_of_gradients(Trial& trial) {
  const AttentionProblem& p = gradient_of(trial).forward;
  if (p.positions_matter()) {
    return unsupported("a key's position matters");
  }
  Random random = trial.random(kName);
  const Index queries = shuffled(random, p.q_length()), keys = shuffled(random, p.k_length());
  Comparison tally;
  if (p.key_length.empty()) {  // else keys beyond a sequence's length stay where they are
    BackwardProblem changed = gradient_of(trial);
    changed.forward.k = gather(p.k, 2, keys);
    changed.forward.v = gather(p.v, 2, keys);
    if (p.has_bias()) changed.forward.bias = gather(p.bias, 3, keys);
    if (tally.taken(trial.refusal(changed))) {
      compare(trial, changed, iota(p.q_length()), keys, "keys in another order against as given", tally);
    }
  }
  BackwardProblem changed = gradient_of(trial);
  changed.forward.q = gather(p.q, 2, queries);
  if (p.has_bias()) changed.forward.bias = gather(p.bias, 2, queries);
  for (Tensor* tensor : {&changed.d_out, &changed.o, &changed.lse}) *tensor = gather(*tensor, 2, queries);
  if (tally.taken(trial.refusal(changed))) {
    compare(trial, changed, queries, iota(p.k_length()), "queries in another order against as given", tally);
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
