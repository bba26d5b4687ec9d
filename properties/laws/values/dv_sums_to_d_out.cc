// The weights of a query sum to 1, seen through dv. Summed over all keys of a kv head,
//   Σ_j dv_jc = Σ_i (Σ_j P_ij) dO_ic = Σ_i e^{λ_i − Λ_i} dO_ic
// over the queries of all heads of the group, λ_i = ln Σ_j e^{s_ij} exactly and Λ_i as it is stored; queries that see no key
// have no part. The law computes λ in double with a rigorous radius (weights.h) and stores its rounding as lse, as an ideal
// forward kernel would. As a stage that is an exact input, so the bounds of the dv_jc cover the rest. A kernel that makes its own
// lse has λ − Λ = 0 but for its errors, which the bounds of both passes cover. A key, a tile of queries or a head that is left
// out or counted twice, another scale or another base of the exponential changes the sum.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"
#include "properties/laws/support/weights.h"

namespace flashproof::law::dv_sums_to_d_out {
namespace {

constexpr std::string_view kTeeth[] = {"attention_backward.broken.group_of_four_heads",
                                       "attention_backward.broken.odd_query_tile_skipped"};

/// What the columns of one (batch, kv head) sum to, and what sizes that is made of.
struct Column {
  std::vector<Measured> sum;
  std::vector<double> size;
  bool known = true;
};

class Columns {
 public:
  /// Stores the lse of every row in `p`, where it is a stage.
  explicit Columns(BackwardProblem& p)
      : p_(p), heads_(static_cast<std::size_t>(p.forward.batch() * p.forward.k_heads())) {
    const auto width = static_cast<std::size_t>(p.forward.value_dim());
    for (Column& head : heads_) head = {std::vector<Measured>(width, exactly(0)), std::vector<double>(width, 0)};
    std::vector<std::uint8_t> done(static_cast<std::size_t>(p.query_rows()), 0);
    for_each_row(p.forward, Scores::compute, [&](const RowWeights& row) { done[add(row)] = 1; });
    const AttentionProblem& f = p.forward;
    for_each_query(f, [&](std::int64_t b, std::int64_t h, std::int64_t, std::int64_t row) {
      if (done[static_cast<std::size_t>(row)] == 0) head(b, f.kv_head(h)).known = false;
    });
  }

  Column& head(std::int64_t b, std::int64_t kv) {
    return heads_[static_cast<std::size_t>(b * p_.forward.k_heads() + kv)];
  }

 private:
  /// Returns the row.
  std::size_t add(const RowWeights& row) {
    const AttentionProblem& f = p_.forward;
    const std::int64_t b = row.row / f.q_length() / f.q_heads(), h = row.row / f.q_length() % f.q_heads();
    const std::int64_t i = row.row % f.q_length();
    Column& sums = head(b, row.kv_head);
    RowSum weights;
    if (row.empty()) return static_cast<std::size_t>(row.row);
    if (!sum_of(row, weights) || !std::isfinite(weights.lse().radius)) {
      sums.known = false;
      return static_cast<std::size_t>(row.row);
    }
    Measured rest = exactly(1);
    if (p_.mode == BackwardMode::stage) {
      p_.lse.set({b, h, i}, weights.lse().value);
      rest = exp(weights.lse() - exactly(p_.lse.at({b, h, i})));
    }
    for (std::size_t c = 0; c < sums.sum.size(); ++c) {
      const double d_out = p_.d_out.at({b, h, i, static_cast<std::int64_t>(c)});
      sums.known = sums.known && std::isfinite(d_out);
      sums.sum[c] = sums.sum[c] + exactly(d_out) * rest;
      sums.size[c] += std::fabs(d_out);
    }
    return static_cast<std::size_t>(row.row);
  }

  BackwardProblem& p_;
  std::vector<Column> heads_;
};

void compare(const AttentionProblem& f, std::int64_t b, std::int64_t kv, const Column& expected,
             const GradientReading& reading, Comparison& tally) {
  for (std::int64_t c = 0; c < f.value_dim(); ++c) {
    Measured sum = exactly(0);
    for (std::int64_t j = 0; j < f.k_length(); ++j) {
      const std::int64_t row = key_row(f, b, kv, j);
      if (reading.standing(Part::dv, row, c) == Standing::excused) return;
      const Measured dv = reading.at(Part::dv, row, c);
      if (std::isinf(dv.value)) return;  // beyond the format, where a number may be
      if (std::isnan(dv.value)) {
        tally.fail(Failure::class_mismatch,
                   place_of(Part::dv, row, c) + ": nan, of rows that are all ordinary numbers");
        return;
      }
      sum = sum + dv;
    }
    const auto at = static_cast<std::size_t>(c);
    tally.agree(sum, expected.sum[at], expected.size[at] / 2, [&] {
      return fmt::format("dv of batch {}, kv head {}, column {}, summed over the keys, against dO over the queries", b,
                         kv, c);
    });
  }
}

Verdict relate(Trial& trial) {
  BackwardProblem changed = with_any_forward(trial);
  if (no_rows(changed)) return vacuous("no row");
  changed.lse = mapped(changed.lse, [](double x) { return x; });
  Columns columns(changed);
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output gradients = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  const GradientReading reading(gradients, bound);
  Comparison tally;
  for (std::int64_t b = 0; b < changed.forward.batch(); ++b) {
    for (std::int64_t kv = 0; kv < changed.forward.k_heads(); ++kv) {
      const Column& head = columns.head(b, kv);
      if (head.known) compare(changed.forward, b, kv, head, reading, tally);
    }
  }
  return tally.verdict("no kv head whose rows are all ordinary numbers");
}

}  // namespace

Law dv_sums_to_d_out() {
  return {"dv summed over the keys is dO summed over the queries: the weights sum to 1", kTeeth, nullptr, relate};
}

}  // namespace flashproof::law::dv_sums_to_d_out
