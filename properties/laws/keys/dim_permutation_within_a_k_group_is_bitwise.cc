// A matrix unit adds the K products of one step exactly, aligned to the largest exponent among them, and cuts once
// (BlockFma): the order within a group of K does not show. So components of q and k, permuted alike within each group of
// unit.k consecutive ones, give the same bits of o and lse; of a kernel that does not declare itself deterministic the same numbers,
// within both bounds. Products of fma chains add one after the other: there the order
// does show, and the law says nothing.
#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::dim_permutation_within_a_k_group_is_bitwise {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.fragment_halves_swapped"};
constexpr std::string_view kName = "dim_permutation_within_a_k_group_is_bitwise";

/// Every group shuffled. A turned or mirrored one would keep the symmetries that mixed-up registers have.
std::vector<std::int64_t> shuffled_groups(std::int64_t d, std::int64_t group, Random& random) {
  std::vector<std::int64_t> from = iota(d);
  for (std::int64_t first = 0; first < d; first += group) {
    for (std::int64_t c = std::min(first + group, d) - 1; c > first; --c) {
      std::swap(from[static_cast<std::size_t>(c)], from[static_cast<std::size_t>(random.integer(first, c))]);
    }
  }
  return from;
}

Verdict relate(Trial& trial) {
  const auto* p = std::get_if<AttentionProblem>(&trial.problem());
  const std::int64_t group = trial.kernel().arithmetic.dot.unit.k;
  if (p == nullptr || group == 0) return unsupported("no scores from a matrix unit");
  if (trial.kernel().foreign) {
    return unsupported("what a foreign kernel declares bounds its matrix unit, and need not be it");
  }
  Random random = trial.random(kName);
  AttentionProblem permuted = *p;
  const auto from = shuffled_groups(p->head_dim(), group, random);
  permuted.q = gather(permuted.q, 3, from);
  permuted.k = gather(permuted.k, 3, from);
  const Problem changed = std::move(permuted);
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  Comparison tally;
  const Verdict same = same_answers(trial, {changed, output}, {trial.problem(), trial.output()});
  if (same.failed() || p->head_dim() > 1)
    tally.add(same, Failure::exceeds_bound, ", components permuted against as given");
  return tally.verdict("one component");
}

}  // namespace

Law dim_permutation_within_a_k_group_is_bitwise() {
  return {"components of q and k permuted alike within a step of the matrix unit give the same bits", kTeeth, relate};
}

}  // namespace flashproof::law::dim_permutation_within_a_k_group_is_bitwise
