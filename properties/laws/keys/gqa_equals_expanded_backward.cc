// Query heads that share a kv head: dq as if each had a copy of its own, bit by bit, since a row of dq is computed from the
// numbers that it reads; dk and dv of the shared head are the sums of those of the copies,
//   dk_j = τ Σ_h Σ_i dS_hij q_hi = Σ_h dk_hj,
// each of the copies within its bound, so that their sum is within the sum of those and of its own.
#include <fmt/format.h>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

BackwardProblem with_heads(BackwardProblem p, std::span<const std::int64_t> from) {
  p.forward.k = gather(p.forward.k, 1, from);
  p.forward.v = gather(p.forward.v, 1, from);
  return p;
}

std::int64_t largest_proper_divisor(std::int64_t n) {
  for (std::int64_t d = n / 2; d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

/// The sum of what the copies of a kv head say of one element; false if one of them says nothing.
bool sum_of_copies(const GradientReading& copies, Part part, const AttentionProblem& grouped, std::int64_t b,
                   std::int64_t kv, std::int64_t j, std::int64_t c, Measured& sum) {
  sum = exactly(0);
  for (std::int64_t h = 0; h < grouped.q_heads(); ++h) {
    if (grouped.kv_head(h) != kv) continue;
    const std::int64_t row = (b * grouped.q_heads() + h) * grouped.k_length() + j;  // a kv head per query head
    if (copies.standing(part, row, c) != Standing::number) return false;
    sum = sum + copies.at(part, row, c);
  }
  return true;
}

void compare_keys(Comparison& tally, Part part, const GradientReading& shared, const GradientReading& copies,
                  const AttentionProblem& grouped, const std::vector<std::uint8_t>& ordinary) {
  for (std::int64_t row = 0; row < shared.rows(part); ++row) {
    if (ordinary[static_cast<std::size_t>(row)] == 0) continue;
    const std::int64_t j = row % grouped.k_length(), head = row / grouped.k_length();
    for (std::int64_t c = 0; c < shared.width(part); ++c) {
      Measured sum = exactly(0);
      if (shared.standing(part, row, c) != Standing::number) continue;
      if (!sum_of_copies(copies, part, grouped, head / grouped.k_heads(), head % grouped.k_heads(), j, c, sum))
        continue;
      tally.agree(shared.at(part, row, c), sum, shared.sharp(part), [&] {
        return fmt::format("{}, a shared kv head against the sum of its copies", place_of(part, row, c));
      });
    }
  }
}

}  // namespace

Verdict gqa_of_gradients(Trial& trial) {
  const AttentionProblem& p = gradient_of(trial).forward;
  if (p.q_heads() == 1) return vacuous("one query head");
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  const bool sharing = p.k_heads() < p.q_heads();
  const BackwardProblem grouped =
      sharing ? gradient_of(trial) : with_heads(gradient_of(trial), iota(largest_proper_divisor(p.q_heads())));
  std::vector<std::int64_t> from;
  from.reserve(static_cast<std::size_t>(p.q_heads()));
  for (std::int64_t h = 0; h < p.q_heads(); ++h) from.push_back(grouped.forward.kv_head(h));
  const BackwardProblem copies = with_heads(grouped, from);
  for (const BackwardProblem* other : {&grouped, &copies}) {
    if (std::string why = trial.refusal(*other); !why.empty()) return unsupported(std::move(why));
  }
  const Output shared = sharing ? trial.output() : trial.run(grouped), expanded = trial.run(copies);
  const Bound shared_bound = trial.bound_of(grouped), expanded_bound = trial.bound_of(copies);
  const GradientReading one(shared, shared_bound), other(expanded, expanded_bound);
  const OrdinaryGradients ordinary = ordinary_gradients(grouped);
  Comparison tally;
  for (std::int64_t row = 0; row < one.rows(Part::dq); ++row) {
    if (!trial.contract().deterministic) break;
    const std::string why = row_difference(Part::dq, shared.dq, row, expanded.dq, row);
    if (!why.empty()) tally.fail(Failure::exceeds_bound, why + ", shared kv heads against a copy for each");
  }
  same_rows(tally, Part::dq, one, other, iota(one.rows(Part::dq)), ordinary.query, "shared kv heads against copies");
  for (const Part part : {Part::dk, Part::dv}) compare_keys(tally, part, one, other, grouped.forward, ordinary.key);
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
