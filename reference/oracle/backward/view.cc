#include "reference/oracle/backward/view.h"

#include <algorithm>
#include <cmath>

#include "reference/oracle/environment_guard.h"
#include "reference/problem/special_values.h"

namespace flashproof::backward {
namespace {

std::uint8_t kind_of(double x) {
  if (std::isnan(x)) return kIsNaN;
  return std::isinf(x) ? std::uint8_t{kNotFinite} : std::uint8_t{0};
}

/// Decodes (·, heads, length, width); kind[row] collects what is not finite there.
std::vector<double> decoded(const Tensor& tensor, std::vector<std::uint8_t>* kind) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(tensor.elements()));
  const auto& shape = tensor.shape;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        std::uint8_t flags = 0;
        const std::int64_t offset = tensor.offset({b, h, i, 0});
        for (std::int64_t c = 0; c < shape[3]; ++c) {
          const double x = decode(tensor.format, tensor.bits(offset + c * tensor.stride[3]));
          flags |= kind_of(x);
          result.push_back(std::isfinite(x) ? x : 0.0);
        }
        if (kind != nullptr) kind->push_back(flags);
      }
    }
  }
  return result;
}

}  // namespace

View::View(const BackwardProblem& p)
    : problem(p),
      batch(p.forward.batch()),
      q_heads(p.forward.q_heads()),
      k_heads(p.forward.k_heads()),
      sq(p.forward.q_length()),
      sk(p.forward.k_length()),
      d(p.forward.head_dim()),
      dv(p.forward.value_dim()),
      group(p.group()),
      scale(p.forward.scale) {
  q = decoded(p.forward.q, &q_finite_);
  k = decoded(p.forward.k, &k_finite_);
  v = decoded(p.forward.v, &v_kind_);
  d_out = decoded(p.d_out, &d_out_kind_);
  std::vector<std::uint8_t> o_kind(static_cast<std::size_t>(p.query_rows()), 0);
  if (p.mode == BackwardMode::stage) {
    o_kind.clear();
    o = decoded(p.o, &o_kind);
  }
  lse.assign(static_cast<std::size_t>(p.query_rows()), 0.0);
  row_state_.assign(lse.size(), Lse::finite);

  bool any = false;
  for (std::int64_t r = 0; r < p.query_rows(); ++r) {
    const Row row = locate(r);
    d_out_kind_[r] |= o_kind[r];  // both enter D
    if (p.mode == BackwardMode::stage) {
      const double value = p.lse.at({row.b, row.h, row.i});
      row_state_[r] = std::isnan(value)    ? Lse::nan
                      : value == kInfinity ? Lse::zero_weights
                      : std::isinf(value)  ? Lse::infinite_weights
                                           : Lse::finite;
      lse[r] = std::isfinite(value) ? value : 0.0;
    }
    any = any || row_state_[r] != Lse::finite || d_out_kind_[r] != 0 || q_finite_[r] != 0;
  }
  for (const auto* kinds : {&k_finite_, &v_kind_}) {
    any = any || std::ranges::any_of(*kinds, [](std::uint8_t kind) { return kind != 0; });
  }
  if (p.forward.has_bias()) any = true;  // NaN or +inf in it; rare enough not to look twice
  if (!any) return;
  dq_special.assign(static_cast<std::size_t>(p.query_rows() * d), 0);
  dk_special.assign(static_cast<std::size_t>(p.key_rows() * d), 0);
  dv_special.assign(static_cast<std::size_t>(p.key_rows() * dv), 0);
  for (std::int64_t r = 0; r < p.query_rows(); ++r) mark_row(r);
}

/// Of the raw values: a number of the right class (symbolic.h: nothing over- or underflows).
double View::dot(const Row& row, std::int64_t j) const {
  if (q_finite_[query_row(row.b, row.h, row.i)] == 0 && k_finite_[key_row(row, j)] == 0) return 0;
  const AttentionProblem& p = problem.forward;
  double sum = 0;
  for (std::int64_t c = 0; c < d; ++c) sum += p.q.at({row.b, row.h, row.i, c}) * p.k.at({row.b, row.h / group, j, c});
  return sum;
}

double View::score_for_class(const Row& row, std::int64_t j) const { return scale * dot(row, j) + bias(row, j); }

bool View::has_score(const Row& row, std::int64_t j) const {
  return problem.forward.position_visible(row.b, row.i, j) &&
         classify_score(scale, dot(row, j), 0, bias(row, j)) == ScoreClass::finite;
}

bool View::weighted(const Row& row, std::int64_t j) const {
  return row_state_[query_row(row.b, row.h, row.i)] == Lse::finite && has_score(row, j);
}

std::vector<std::int64_t> View::weighted_keys(const Row& row) const {
  std::vector<std::int64_t> keys;
  const auto [first, last] = problem.forward.visible_keys(row.b, row.i);
  for (std::int64_t j = first; j < last; ++j) {
    if (weighted(row, j)) keys.push_back(j);
  }
  return keys;
}

std::vector<std::int64_t> View::weightless_keys(const Row& row) const {
  std::vector<std::int64_t> keys;
  const auto [first, last] = problem.forward.visible_keys(row.b, row.i);
  for (std::int64_t j = first; j < last; ++j) {
    if (bias(row, j) != -kInfinity && !weighted(row, j)) keys.push_back(j);
  }
  return keys;
}

void View::mark(std::vector<std::uint8_t>& flags, std::int64_t row, std::int64_t width, std::uint8_t special) const {
  if (special == 0) return;
  for (std::int64_t c = 0; c < width; ++c) flags[row * width + c] |= special;
}

void View::mark_row(std::int64_t r) {
  const Row row = locate(r);
  const auto [first, last] = problem.forward.visible_keys(row.b, row.i);
  bool seen = false;      // a key with a weight, or one that poisons
  std::uint8_t of_o = 0;  // gradient: what the values of the row make of o
  for (std::int64_t j = first; j < last; ++j) {
    const ScoreClass score = classify_score(scale, dot(row, j), 0, bias(row, j));
    seen = seen || score != ScoreClass::hidden;
    if (problem.mode == BackwardMode::stage) continue;
    if (score == ScoreClass::poison) row_state_[r] = Lse::nan;
    if (score == ScoreClass::finite) of_o |= v_kind_[key_row(row, j)];
  }
  // No visible key: no contribution, whatever dO, o and lse hold.
  const Lse state = seen ? row_state_[r] : Lse::zero_weights;
  const std::uint8_t of_d = d_out_kind_[r] | of_o;  // dO·o
  for (std::int64_t j = first; j < last; ++j) {
    const std::int64_t key = key_row(row, j);
    const ScoreClass score = classify_score(scale, dot(row, j), 0, bias(row, j));
    if (score == ScoreClass::hidden) {
      // e^(−inf − NaN), e^(−inf + inf), or 0 times the infinite k or q that made the score.
      const bool no_weight = state == Lse::finite || state == Lse::zero_weights;
      const bool infinite_factor = bias(row, j) != -kInfinity;
      if (!no_weight) mark(dv_special, key, dv, kMayBeNaN);
      if (!no_weight || infinite_factor) {
        mark(dk_special, key, d, kMayBeNaN);
        mark(dq_special, r, d, kMayBeNaN);
      }
      continue;
    }
    std::uint8_t weight = 0;
    if (score == ScoreClass::poison) {
      const bool infinite = score_for_class(row, j) == kInfinity;  // e^(+inf − lse)
      weight = infinite && (state == Lse::finite || state == Lse::infinite_weights) ? kNotFinite : kIsNaN;
    } else if (state == Lse::nan) {
      weight = kIsNaN;
    } else if (state == Lse::infinite_weights) {
      weight = kNotFinite;
    }
    const std::uint8_t beside = of_d | v_kind_[key];  // of dP − D
    if (weight == 0 && state == Lse::zero_weights) {
      if (beside != 0) {
        mark(dq_special, r, d, kMayBeNaN);
        mark(dk_special, key, d, kMayBeNaN);
      }
      for (std::int64_t c = 0; c < dv; ++c) {  // 0 · dO alone: o does not enter dv
        if (kind_of(problem.d_out.at({row.b, row.h, row.i, c})) != 0) dv_special[key * dv + c] |= kMayBeNaN;
      }
      continue;
    }
    mark(dq_special, r, d, weight | beside);
    mark(dk_special, key, d, weight | beside);
    mark(dv_special, key, dv, weight);
    if (d_out_kind_[r] == 0) continue;
    for (std::int64_t c = 0; c < dv; ++c) {
      dv_special[key * dv + c] |= kind_of(problem.d_out.at({row.b, row.h, row.i, c}));
    }
  }
}

void apply_special(std::uint8_t special, Ball& ball) {
  if ((special & kIsNaN) != 0) {
    ball = special_ball(kNaN);
  } else if ((special & kNotFinite) != 0) {
    ball = special_ball(kPosInf | kNegInf | kNaN);
  } else if ((special & kMayBeNaN) != 0) {
    ball.classes |= kNaN;
  }
}

std::int64_t view_bytes(const BackwardProblem& p) {
  const AttentionProblem& f = p.forward;
  // Decoded inputs and flags, then both tiers' accumulators and the truth: see fp64_rows.cc.
  const std::int64_t inputs = f.q.elements() + f.k.elements() + f.v.elements() + p.d_out.elements() + p.o.elements();
  const std::int64_t outputs = f.q.elements() + p.key_rows() * (f.head_dim() + f.value_dim());
  return 16 * inputs + 128 * outputs + 256 * (p.query_rows() + p.key_rows());
}

}  // namespace flashproof::backward
