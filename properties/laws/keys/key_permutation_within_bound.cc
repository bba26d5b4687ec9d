// Keys in another order give the same o and lse, within both bounds: softmax, attention and the merge of states are sums.
// Where position means something (causal, window, ALiBi, lengths within a longer room) the order is not free: unsupported.
#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"

namespace flashproof::law::key_permutation_within_bound {
namespace {

constexpr std::string_view kName = "key_permutation_within_bound";
constexpr std::string_view kTeeth[] = {"attention.broken.accumulator_not_rescaled",
                                       "attention_backward.broken.odd_query_tile_skipped"};

/// Where key j came from.
std::vector<std::int64_t> shuffled(Random& random, std::int64_t n) {
  std::vector<std::int64_t> from = iota(n);
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(from[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(random.integer(0, i))]);
  }
  return from;
}

std::string refused(const AttentionProblem& p) {
  if (p.packed() || p.paged()) return "the sequences share storage";
  if (p.positions_matter()) return "a key's position matters";
  if (!p.key_length.empty()) return "keys beyond a sequence's length stay where they are";
  return {};
}

std::string permute(AttentionProblem& p, Random& random) {
  if (std::string why = refused(p); !why.empty()) return why;
  const auto from = shuffled(random, p.k_length());
  p.k = gather(p.k, 2, from);
  p.v = gather(p.v, 2, from);
  if (p.has_bias()) p.bias = gather(p.bias, 3, from);
  return {};
}

std::string permute(MergeProblem& p, Random& random) {
  if (p.form == MergeForm::concat) return "the blocks of a concatenation have places";
  const auto from = shuffled(random, p.o.shape[0]);
  p.o = gather(p.o, 0, from);
  p.lse = gather(p.lse, 0, from);
  if (p.has_l()) p.l = gather(p.l, 0, from);
  return {};
}

std::string permute(SoftmaxProblem&, Random&) { return "every column is an output of its own"; }

Verdict relate(Trial& trial) {
  Problem changed = trial.problem();
  Random random = trial.random(kName);
  std::string why = visit_forward([&](auto& p) { return permute(p, random); }, changed);
  if (why.empty()) why = trial.refusal(changed);
  if (!why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  Comparison tally;
  tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
             "keys in another order against as given", ordinary_rows(trial.problem()));
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law key_permutation_within_bound() {
  return {"the order of the keys, of gradients also that of the queries, does not matter, within both bounds", kTeeth,
          relate, key_permutation_of_gradients};
}

}  // namespace flashproof::law::key_permutation_within_bound
