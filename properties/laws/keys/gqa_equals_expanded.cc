// Query heads that share a kv head see the same keys as if each had a copy of its own: K and V with their heads expanded
// to one per query head (and the descale factors with them) give the same bits, since an element is computed from the
// numbers it reads and the plan; of a kernel that does not declare itself deterministic the same numbers, within both bounds. A problem without sharing is given some first: the kv heads beyond the largest proper
// divisor of Hq are left out. Sees head indices (h / group against h mod Hk), and strides of heads.
#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::gqa_equals_expanded {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.kv_head_divided_by_kv_heads",
                                       "attention_backward.broken.group_of_four_heads"};

AttentionProblem with_heads(AttentionProblem p, std::span<const std::int64_t> from) {
  p.k = gather(p.k, 1, from);
  p.v = gather(p.v, 1, from);
  for (Tensor* factors : {&p.q_descale, &p.k_descale, &p.v_descale}) {
    if (!factors->shape.empty()) *factors = gather(*factors, 1, from);
  }
  return p;
}

std::int64_t largest_proper_divisor(std::int64_t n) {
  for (std::int64_t d = n / 2; d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

Verdict relate(Trial& trial) {
  const auto* p = std::get_if<AttentionProblem>(&trial.problem());
  if (p == nullptr) return unsupported("attention only: there are no heads");
  if (p->q_heads() == 1) return vacuous("one query head");
  const bool sharing = p->k_heads() < p->q_heads();
  AttentionProblem grouped = sharing ? *p : with_heads(*p, iota(largest_proper_divisor(p->q_heads())));
  std::vector<std::int64_t> from(static_cast<std::size_t>(p->q_heads()));
  for (std::int64_t h = 0; h < p->q_heads(); ++h) from[static_cast<std::size_t>(h)] = grouped.kv_head(h);
  const Problem copies = with_heads(grouped, from), shared = std::move(grouped);
  for (const Problem* other : {&shared, &copies}) {
    if (std::string why = trial.refusal(*other); !why.empty()) return unsupported(std::move(why));
  }
  const Output output = sharing ? trial.output() : trial.run(shared), expanded = trial.run(copies);
  Comparison tally;
  tally.add(same_answers(trial, {shared, output}, {copies, expanded}), Failure::exceeds_bound,
            ", shared kv heads against a copy for each");
  return tally.verdict("");
}

}  // namespace

Law gqa_equals_expanded() {
  return {
      "query heads that share a kv head: o, lse and dq as with copies of their own, bit by bit; dk and dv the "
      "sums of those of the copies",
      kTeeth, relate, gqa_of_gradients};
}

}  // namespace flashproof::law::gqa_equals_expanded
