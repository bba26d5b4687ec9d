// Softmax does not see a shift: the rows of dS sum to 0. With every key of a kv head equal to one vector κ,
//   dq = τ κ Σ_j dS_j = τ κ do·(Σ_j P_j v_j − o Σ_j P_j)
// and with P = e^{s − lse}, lse and o as they are stored, Λ and ô,
//   dq = τ κ e^{lse − Λ} do·(o − ô):
// 0 but for what the roundings of the stored lse and o add. q·κ is then a constant of the row, and o, lse follow from bias
// and ALiBi alone; the law computes them in double with a rigorous radius (weights.h) and stores them as an ideal forward
// kernel would. As a stage both are exact inputs, so the bound of dq covers all else. A D that is missing, or of another
// row, leaves τ κ do·o.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/weights.h"

namespace flashproof::law::dq_is_zero_for_equal_keys {
namespace {

Tensor like(const Tensor& tensor) {
  return mapped(tensor, [](double) { return 0.0; });
}

/// Key 0 in the place of every key of its sequence and head; a component that is no number there becomes 1.
void equal_keys(AttentionProblem& p) {
  const std::vector<std::int64_t> first(static_cast<std::size_t>(p.k.shape[2]), 0);
  p.k = mapped(gather(p.k, 2, first), [](double x) { return std::isfinite(x) ? x : 1.0; });
}

struct Forward {
  Measured lse = exactly(0);
  std::vector<Measured> o;
};

/// The row's exact output, of scores that differ by bias and ALiBi alone; false if double does not know its weights.
bool forward_of(const AttentionProblem& p, const RowWeights& row, Forward& result) {
  RowSum sum;
  if (!sum_of(row, sum)) return false;
  result.lse = sum.lse();
  const Measured scale = exp(exactly(0) - log(sum.sum));
  result.o.assign(static_cast<std::size_t>(p.value_dim()), exactly(0));
  for (std::size_t n = 0; n < row.key.size(); ++n) {
    const std::int64_t v = p.v_offset(row.sequence, row.kv_head, row.key[n]);
    for (std::int64_t c = 0; c < p.value_dim(); ++c) {
      Measured& o = result.o[static_cast<std::size_t>(c)];
      o = o + sum.weight[n] * scale * exactly(decode(p.v.format, p.v.bits(v + c * p.v.stride[3])));
    }
  }
  return true;
}

/// What every element of dq is over its component of κ, and how large its two terms are.
struct Expected {
  std::int64_t row = 0, batch = 0, kv_head = 0;
  Measured over_key = exactly(0);
  double size = 0;
};

/// Fills o and lse of one row, and returns what dq must be.
Expected fill_row(BackwardProblem& p, const RowWeights& row, const Forward& forward) {
  const std::int64_t heads = p.forward.q_heads(), length = p.forward.q_length();
  const std::int64_t b = row.row / length / heads, h = row.row / length % heads, i = row.row % length;
  p.lse.set({b, h, i}, forward.lse.value);
  Expected expected{.row = row.row, .batch = b, .kv_head = row.kv_head};
  for (std::int64_t c = 0; c < p.forward.value_dim(); ++c) {
    const Measured& o = forward.o[static_cast<std::size_t>(c)];
    p.o.set({b, h, i, c}, o.value);
    const double d_out = p.d_out.at({b, h, i, c}), stored = p.o.at({b, h, i, c});
    expected.over_key = expected.over_key + exactly(d_out) * (o - exactly(stored));
    expected.size += std::fabs(d_out * stored);
  }
  const double scale = p.forward.scale;
  expected.over_key = expected.over_key * exp(forward.lse - exactly(p.lse.at({b, h, i}))) * exactly(scale);
  expected.size *= std::fabs(scale);
  return expected;
}

bool finite_gradient(const BackwardProblem& p, const RowWeights& row) {
  const std::int64_t heads = p.forward.q_heads(), length = p.forward.q_length();
  for (std::int64_t c = 0; c < p.forward.value_dim(); ++c) {
    const double d = p.d_out.at({row.row / length / heads, row.row / length % heads, row.row % length, c});
    if (!std::isfinite(d)) return false;
  }
  return true;
}

void compare(const BackwardProblem& p, const Expected& expected, const Output& gradients, const Bound& bound,
             Comparison& tally) {
  const std::int64_t d = p.forward.head_dim();
  const auto row = static_cast<std::size_t>(expected.row);
  if (!bound.query_domain[row].holds()) return;
  for (std::int64_t c = 0; c < d; ++c) {
    const ElementBound& element = bound.dq[row * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)];
    const double dq = decode(gradients.dq.format, gradients.dq.bits(expected.row * d + c));
    const double key = p.forward.k.at({expected.batch, expected.kv_head, 0, c});
    if (!std::isfinite(element.total())) continue;
    const Measured exact = expected.over_key * exactly(key);
    if (std::isinf(dq) && specials({dq, element.total()}, exact, gradients.dq.format) == Specials::may_be) continue;
    const double half_step = std::isfinite(dq) ? ulp(gradients.dq.format, dq) / 2 : 0;
    tally.agree({dq, element.total() + half_step}, exact, expected.size * std::fabs(key) / 2,
                [&] { return fmt::format("{}, all keys equal", place_of(Part::dq, expected.row, c)); });
  }
}

Verdict relate(Trial& trial) {
  BackwardProblem changed = gradient_of(trial);
  if (changed.forward.k_length() == 0) return vacuous("no key");
  changed.mode = BackwardMode::stage;
  equal_keys(changed.forward);
  changed.o = like(changed.o);
  changed.lse = like(changed.lse);
  std::vector<Expected> rows;
  for_each_row(changed.forward, Scores::compute, [&](const RowWeights& row) {
    Forward forward;
    if (!finite_gradient(changed, row) || !forward_of(changed.forward, row, forward)) return;
    const Expected expected = fill_row(changed, row, forward);
    if (std::isfinite(expected.over_key.value) && std::isfinite(expected.over_key.radius)) rows.push_back(expected);
  });
  if (const std::string why = trial.refusal(changed); !why.empty()) return unsupported(why);
  const Output gradients = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  Comparison tally;
  for (const Expected& expected : rows) compare(changed, expected, gradients, bound, tally);
  return tally.verdict("no row of ordinary numbers");
}

constexpr std::string_view kTeeth[] = {"attention_backward.broken.delta_not_subtracted"};

}  // namespace

Law dq_is_zero_for_equal_keys() {
  return {"with all keys equal dq is 0 within its bound: the rows of dS sum to 0", kTeeth, nullptr, relate};
}

}  // namespace flashproof::law::dq_is_zero_for_equal_keys
