#include "reference/bound/backward/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/row_model.h"

namespace flashproof::bound {
namespace {

using backward::View;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kD = 0x1p-52;           // twice the unit roundoff of double
constexpr double kLog2eError = 1.36e-8;  // |fl(log2 e) − log2 e| / log2 e = 1.335e-8
constexpr double kLog2E = 1.4427;        // from above
constexpr const char* kScores = "scores and their partial sums below the f32 range";
constexpr const char* kWeights = "P below the range of its format";
constexpr const char* kProducts = "dO·v and dO·o below the f32 range";
constexpr const char* kStoredProducts = "dP below the range of its format";
constexpr const char* kDs = "dS below the range of its format";

/// 0 · inf = 0: of a bound that may be infinite and a factor that is exactly 0.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

struct DotSums {
  double value = 0, size = 0;   // Σ ab, Σ |ab|
  double sum = 0, aligned = 0;  // Σ |a| + |b|, and Σ |ab| as a matrix unit's exponents see it
};
DotSums products_of(const double* a, const double* b, std::int64_t n) {
  DotSums p;
  for (std::int64_t c = 0; c < n; ++c) {
    const double product = a[c] * b[c];
    p.value += product;
    p.size += std::fabs(product);
    p.sum += std::fabs(a[c]) + std::fabs(b[c]);
  }
  p.size *= kSlack;
  p.sum *= kSlack;
  return p;
}

double dot_of(const AlignedValues& a, std::int64_t a_row, const AlignedValues& b, std::int64_t b_row, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += a[a_row * n + c] * b[b_row * n + c];
  return sum * kSlack;
}

AlignedValues aligned_values(const std::vector<double>& values, Format format) {
  AlignedValues result;
  result.reserve(values.size());
  for (const double x : values) result.push_back(aligned(std::fabs(x), format));
  return result;
}

}  // namespace

class RowSource::Row {
 public:
  Row(const RowSource& source, std::int64_t r)
      : source_(source),
        view_(source.view_),
        a_(source.a_),
        forward_(source.forward_),
        r_(r),
        at_(view_.locate(r)),
        flush_(a_.underflow == Underflow::flush ? 0x1p-126 : 0),
        eta_(a_.underflow == Underflow::flush ? 0x1p-126 : 0x1p-150) {}

  RowTerms terms() {
    RowTerms result;
    for (const std::int64_t j : view_.weightless_keys(at_)) result.weightless.push_back(weightless(j));
    for (const std::int64_t j : view_.weighted_keys(at_)) keys_.push_back(key_of(j));
    if (keys_.empty()) return result;
    set_lse();
    set_weights();
    set_delta();
    result.common = growth(common_);
    const double inside = a_.scale == GradientScale::weights ? std::fabs(view_.scale) : 1;
    result.delta = inside * delta_error_;
    for (std::size_t n = 0; n < keys_.size(); ++n) result.pairs.push_back(pair(n));
    if (a_.delta == DeltaSum::weights) share_products(result);
    return result;
  }

  /// D of the weights reads every dP of the row, those beside a weight of 0 too: one that is no number makes them all none.
  void share_products(RowTerms& result) const {
    RowDomain all;
    for (const Key& key : keys_) require_products(key, all);
    for (const std::int64_t j : view_.weightless_keys(at_)) require_products(key_of(j), all);
    for (PairTerms& pair : result.pairs) pair.domain.require(all.nearest);
    for (Weightless& pair : result.weightless) pair.domain.require(all.nearest);
  }

 private:
  struct Key {
    std::int64_t row = 0;
    double score = 0, score_slop = 0;
    double score_error = 0;  // of the computed x̂, in units of s; the slop included
    double x = 0, slop = 0;  // s − λ, and the error of evaluating it (and e^x, relative)
    double h = 0;            // log-weight error of this key alone
    DotSums dp = {};
    double reach = 0;  // of everything on the way to x̂
  };

  /// An exact sum of products computed by the kernel.
  double error_of(const FixedCost& cost, const Products& products, const DotSums& p) const {
    const double size = products.unit.k > 0 ? p.aligned : p.size;
    return (cost.growth * size + (cost.lost + flush_ * p.sum) * (1 + cost.growth)) * kSlack;
  }

  Key key_of(std::int64_t j) const {
    const AttentionProblem& f = view_.problem.forward;
    const double scale = std::fabs(view_.scale);
    Key key;
    key.row = view_.key_row(at_, j);
    DotSums t = products_of(&view_.q[r_ * view_.d], &view_.k[key.row * view_.d], view_.d);
    if (a_.dot.unit.k > 0) t.aligned = dot_of(source_.q_, r_, source_.k_, key.row, view_.d);
    const double dot_error = error_of(source_.dot_, a_.dot, t);
    const double scaled = view_.scale * t.value;
    const double bias = view_.bias(at_, j);
    const double alibi = view_.slope(at_) * static_cast<double>(view_.distance(at_, j));
    key.score = scaled + bias + alibi;
    key.score_slop = scale * static_cast<double>(view_.d + 4) * kD * t.size +
                     2 * kD * (std::fabs(scaled) + std::fabs(bias) + std::fabs(alibi));
    double error = scale * dot_error + key.score_slop;
    key.reach = t.size + dot_error;
    if (a_.factors_scaled) {  // fl(q r)·fl(k r), r = fl(√|τ|): four roundings of each product, and what underflows of a factor
      const double root = std::sqrt(scale) * kSlack;
      error +=
          growth(roundings(4)) * scale * (t.size + dot_error) + (eta_ + flush_) * (2 + t.sum) * (root + 1) * kSlack;
      key.reach = std::max(key.reach, std::max(root * t.sum, scale * t.size) * kSlack);
    }
    if (a_.unit == ScoreUnit::natural) {  // fl(τ t̂), + bias, + fl(slope · distance)
      error += kU * (std::fabs(scaled) + error) + eta_ + flush_ * scale;
      key.reach = std::max(key.reach, std::fabs(scaled) + error);
      if (f.has_bias()) error += kU * (std::fabs(scaled + bias) + error) + 2 * flush_;
      if (f.has_alibi()) {
        error += 2 * kU * std::fabs(alibi) * (1 + kU) + eta_;
        error += kU * (std::fabs(key.score) + error) + 2 * flush_;
      }
    }
    key.score_error = error * kSlack;
    const double size = std::fabs(key.score) + key.score_error;
    key.reach = std::max(key.reach, size * (a_.exponent == Exponent::accurate ? 1 : kLog2E));
    key.dp = products_of(&view_.d_out[r_ * view_.dv], &view_.v[key.row * view_.dv], view_.dv);
    if (a_.products.unit.k > 0) key.dp.aligned = dot_of(source_.d_out_, r_, source_.v_, key.row, view_.dv);
    return key;
  }

  /// P = e^{s − lse} is 0 where lse = +inf, and stays it as long as s and dP − D are numbers; a key whose score is −inf is
  /// left out, as long as the finite products beside the infinite one are numbers.
  Weightless weightless(std::int64_t j) {
    const Key key = key_of(j);
    Weightless result{.key_row = key.row, .domain = {}};
    result.domain.require({kScores, key.reach, kF32Max});
    if (view_.problem.mode == BackwardMode::stage && view_.has_score(at_, j)) {
      set_delta();
      require_products(key, result.domain);
    }
    return result;
  }

  /// λ: stored (stage), or m + ln Σ e^(s − m).
  void set_lse() {
    if (view_.problem.mode == BackwardMode::stage) {
      lse_ = view_.lse[r_];
    } else {
      double top = -kInf;
      double slop = 0;
      for (const Key& key : keys_) top = std::max(top, key.score);
      double sum = 0;
      for (const Key& key : keys_) {
        sum += std::exp(key.score - top);
        slop = std::max(slop, key.score_slop);
      }
      lse_ = top + std::log(sum);
      lse_slop_ = slop + static_cast<double>(keys_.size() + 16) * 2 * kD + 2 * kD * std::fabs(lse_);
      given_ = forward_.lse[r_];
    }
  }

  /// x, slop and h of every key, κ of the row (README.md, section 1).
  void set_weights() {
    const double fold = ((1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-20);  // a product with fl(log2 e)
    const double reach = std::fabs(lse_) + given_ + lse_slop_;
    common_ = given_;
    const bool folded = a_.exponent == Exponent::fused || a_.exponent == Exponent::unfused;
    if (folded) common_ += fold * reach + eta_;
    common_ += flush_;  // of a subnormal lse
    for (Key& key : keys_) {
      key.x = key.score - lse_;
      key.slop = key.score_slop + lse_slop_ + kD * std::fabs(key.x) + 4 * kD;
      const double below = std::fabs(key.x) + key.slop + key.score_error + given_;
      const double size = std::fabs(key.score) + key.score_error;
      double rounding = 0;
      switch (a_.exponent) {
        case Exponent::accurate:
          rounding = kU * below;
          break;
        case Exponent::scaled_exp2:
          rounding = ((1 + kU) * (1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-20) * below;
          break;
        case Exponent::fused:
        case Exponent::unfused: {
          // ĉ = fl(log2 e), or fl(τ·fl(log2 e)) with one rounding more; then the product's own, unless it is fused.
          const bool raw = a_.unit == ScoreUnit::raw;
          const double constant = raw ? fold : kLog2eError * (1 + 0x1p-20);
          const double product = (a_.exponent == Exponent::unfused ? kU * (1 + constant) : 0) + constant;
          const double error = product * size + fold * reach;
          rounding = product * size + kU * (below + error);
          break;
        }
        case Exponent::subtract_then_scale:
          rounding = kInf;  // refused before
          break;
      }
      key.h = (key.score_error + rounding + 3 * (eta_ + flush_) - std::log1p(-a_.exp_error)) * kSlack;
      key.reach = std::max(key.reach, reach * (a_.exponent == Exponent::accurate ? 1 : kLog2E));
    }
    common_ *= kSlack;
  }

  double p_of(const Key& key) const { return std::exp(key.x + key.slop); }  // upper bound

  /// dP̂ before D̂ is subtracted: the products' error, its storage, and the rounding of P̂·dP̂ where the difference is taken
  /// of products.
  double dp_error_of(const Key& key) const {
    const double dot = error_of(source_.products_, a_.products, key.dp);
    const double computed = std::fabs(key.dp.value) + static_cast<double>(view_.dv + 4) * kD * key.dp.size + dot;
    const double storage =
        times(source_.dp_growth_, computed) + std::min(storage_underflow(a_.dp, a_.underflow), computed);
    const double product = a_.apart ? kU * (computed + storage) : 0;
    return (dot + storage + product) * kSlack;
  }

  /// P̂ and |P̂ − P| from above, of one key.
  struct PairWeights {
    double zeta, own, error, computed, lost;  // lost: by the storage of P
    double ds_own, ds_error, ds_computed;     // as dS reads it
  };
  PairWeights pair_weights(const Key& key) const {
    // P̂ = P e^κ e^η + ζ.
    PairWeights w{};
    const double subnormal = a_.underflow == Underflow::flush ? 0x1p-126 : 0x1p-149;
    w.zeta = key.x - key.slop - key.h - common_ <= -kLogMinNormal + 0x1p-20 ? subnormal : 0;
    w.own = (scaled_expm1(key.x + key.slop + common_, key.h) + w.zeta) * kSlack;
    w.error = (scaled_expm1(key.x + key.slop, common_ + key.h) + w.zeta) * kSlack;
    w.computed = p_of(key) + w.error;
    // Storage of P, for dv.
    const bool p_normal = std::exp(key.x - key.slop - key.h - common_) - w.zeta > min_normal(a_.p) * (1 + 0x1p-20);
    const double p_lost = p_normal ? 0 : std::min(source_.p_underflow_, w.computed);
    w.lost = (times(source_.p_growth_, w.computed) + p_lost + flush_) * kSlack;
    const double in_ds = a_.stored_weights ? w.lost : 0;
    w.ds_own = w.own + in_ds;
    w.ds_error = w.error + in_ds;
    w.ds_computed = w.computed + in_ds;
    return w;
  }

  /// D_i, its slop and the error of D̂_i.
  void set_delta() {
    const bool stage = view_.problem.mode == BackwardMode::stage;
    const double* d_out = &view_.d_out[r_ * view_.dv];
    const bool unit = a_.row_sum.unit.k > 0;
    std::vector<double> o(static_cast<std::size_t>(view_.dv), 0.0);
    DotSums row;
    double from_forward = 0;
    if (stage) {
      row = products_of(d_out, &view_.o[r_ * view_.dv], view_.dv);
      if (unit) row.aligned = dot_of(source_.d_out_, r_, source_.o_, r_, view_.dv);
      delta_slop_ = static_cast<double>(view_.dv + 4) * kD * row.size;
    } else {
      const double terms = static_cast<double>(keys_.size()) + static_cast<double>(view_.dv) + 8;
      for (const Key& key : keys_) {
        const double p = std::exp(key.x);
        for (std::int64_t c = 0; c < view_.dv; ++c) o[c] += p * view_.v[key.row * view_.dv + c];
        delta_slop_ += (scaled_expm1(key.x, key.slop) + terms * kD * p_of(key)) * key.dp.size;
      }
      row = products_of(d_out, o.data(), view_.dv);
      const double least = min_normal(view_.problem.o.format);
      for (std::int64_t c = 0; c < view_.dv; ++c) {
        const double stored = std::max(std::fabs(o[c]) + forward_.o[r_ * view_.dv + c], least);
        if (unit) row.aligned += source_.d_out_[r_ * view_.dv + c] * stored;
        if (a_.delta == DeltaSum::weights) continue;
        from_forward += times(std::fabs(d_out[c]), forward_.o[r_ * view_.dv + c]);
        row.sum += forward_.o[r_ * view_.dv + c];
      }
      row.size += delta_slop_ + from_forward;
      row.aligned += delta_slop_;
    }
    delta_ = row.value;
    if (a_.delta == DeltaSum::weights) {
      set_delta_of_weights();
    } else {
      delta_error_ = (from_forward + error_of(source_.row_sum_, a_.row_sum, row) + flush_) * kSlack;
    }
    if (a_.apart) delta_error_ += kU * (std::fabs(delta_) + delta_slop_ + delta_error_) * kSlack;  // fl(P̂·D̂)
    delta_reach_ = row.size + delta_error_;
  }

  /// Σ_j fl(P̂·dP̂): P̂ for P, dP̂ for dP, and the sum's own roundings (README.md, section 7).
  void set_delta_of_weights() {
    double error = 0, size = 0, touched = 0;
    for (const Key& key : keys_) {
      const PairWeights w = pair_weights(key);
      const double dp = std::fabs(key.dp.value) + static_cast<double>(view_.dv + 4) * kD * key.dp.size;
      const double dp_error = dp_error_of(key);
      error += times(w.ds_error, dp) + times(w.ds_computed, dp_error);
      size += times(w.ds_computed, dp + dp_error);
      touched += w.ds_computed + dp + dp_error;
    }
    const auto terms = static_cast<std::int64_t>(keys_.size());
    const SumCost cost = cost_of(a_.row_sum, view_.sk, terms);
    const double g = growth(cost.log_units + roundings(1));
    const double lost = (cost.operations + static_cast<double>(terms)) * lost_per_operation(a_.row_sum, a_.underflow);
    delta_error_ = (error + g * size + (lost + flush_ * (touched + 1)) * (1 + g)) * kSlack;
  }

  /// Of t = dP − D as evaluated here.
  double slop_of(const Key& key) const {
    return static_cast<double>(view_.dv + 4) * kD * key.dp.size + delta_slop_ + kD * std::fabs(key.dp.value - delta_);
  }

  /// dP, D and their difference are numbers.
  void require_products(const Key& key, RowDomain& domain) const {
    const double dp_error = dp_error_of(key);
    const double t_size = std::fabs(key.dp.value - delta_) + slop_of(key);
    if (a_.dp != Format::f32) {
      domain.require({kStoredProducts, (std::fabs(key.dp.value) + dp_error) * (1 + 0x1p-10), info(a_.dp).max_finite});
    }
    domain.require({kProducts, std::max(key.dp.size + dp_error, delta_reach_) * (1 + 0x1p-10), kF32Max});
    domain.require({kProducts, t_size + dp_error + delta_error_, kF32Max});
  }

  PairTerms pair(std::size_t n) const {
    const Key& key = keys_[n];
    PairTerms out;
    out.key_row = key.row;
    const double p = p_of(key);
    const PairWeights w = pair_weights(key);
    out.p = std::exp(key.x);
    out.p_slop = scaled_expm1(key.x, key.slop) * kSlack;
    out.p_weights = w.error;
    out.p_numerator = w.lost;
    out.p_size = (w.computed + out.p_numerator) * kSlack;
    const double p_computed = w.ds_computed;

    // t = dP − D.
    const double dp_error = dp_error_of(key);
    const double t = key.dp.value - delta_;
    const double t_slop = slop_of(key);
    const double t_size = std::fabs(t) + t_slop;
    const double inside = a_.scale == GradientScale::weights ? std::fabs(view_.scale) : 1;
    const bool scaled = a_.scale == GradientScale::weights;

    // S̃ = inside · P̂ (t + e_P − e_D)(1 + θ) + z.
    const double theta = source_.ds_theta_;
    const double rho = 1 + theta;
    out.ds = (scaled ? view_.scale : 1) * out.p * t;
    out.ds_slop = (inside * (times(out.p_slop, t_size) + times(p, t_slop)) + 2 * kD * std::fabs(out.ds)) * kSlack;
    out.ds_own = inside * times(w.ds_own, t_size) * kSlack;
    out.ds_weights = inside * times(w.ds_error, t_size) * kSlack;
    out.ds_delta = inside * times(p_computed, rho * delta_error_) * kSlack;
    out.ds_delta_rest = inside * times(w.ds_error + p_computed * theta, delta_error_) * kSlack;
    double numerator = inside * (times(p_computed, rho * (dp_error + 2 * flush_)) + times(p_computed, theta * t_size));
    if (a_.apart) numerator += inside * 2 * (eta_ + flush_ * (2 + p_computed)) * rho;  // two products in place of one
    numerator += (inside * eta_ + (scaled ? eta_ + flush_ * (1 + inside) : 0) + flush_ * inside * (1 + t_size)) * rho;
    const double exact = std::fabs(out.ds) + out.ds_slop;
    const double size = exact + out.ds_weights + out.ds_delta + numerator;
    const double lowest = std::fabs(out.ds) * (1 - 0x1p-20) - (size - exact) - out.ds_slop;
    if (!(lowest > min_normal(a_.ds))) numerator += std::min(source_.ds_underflow_, size);
    out.ds_numerator = numerator * kSlack;
    out.ds_size = (exact + out.ds_weights + out.ds_delta + out.ds_numerator) * kSlack;
    out.p_aligned = aligned(out.p_size, a_.p);
    out.ds_aligned = aligned(out.ds_size, a_.ds);

    out.domain.require({kScores, key.reach, kF32Max});
    out.domain.require({kWeights, out.p_size, info(a_.p).max_finite});
    out.domain.require({kWeights, p_computed, kF32Max});
    require_products(key, out.domain);
    out.domain.require({kDs, out.ds_size, info(a_.ds).max_finite});
    out.domain.require({kDs, times(p_computed, t_size + dp_error + delta_error_) * rho, kF32Max});  // before τ
    return out;
  }

  const RowSource& source_;
  const View& view_;
  const BackwardArithmetic& a_;
  const ForwardErrors& forward_;
  std::int64_t r_;
  View::Row at_;
  double flush_, eta_;
  std::vector<Key> keys_;
  double lse_ = 0, lse_slop_ = 0, given_ = 0, common_ = 0;
  double delta_ = 0, delta_slop_ = 0, delta_error_ = 0, delta_reach_ = 0;
};

RowSource::RowSource(const View& view, const BackwardArithmetic& arithmetic, const ForwardErrors& forward)
    : view_(view),
      a_(arithmetic),
      forward_(forward),
      dot_(fixed_cost(arithmetic.dot, view.d)),
      products_(fixed_cost(arithmetic.products, view.dv)),
      row_sum_(fixed_cost(arithmetic.row_sum, view.dv)),
      p_growth_(growth(storage_units(arithmetic.p))),
      dp_growth_(growth(storage_units(arithmetic.dp))),
      p_underflow_(storage_underflow(arithmetic.p, arithmetic.underflow)),
      ds_theta_(growth(roundings(arithmetic.scale == GradientScale::weights ? 3 : 2) + storage_units(arithmetic.ds))),
      ds_underflow_(storage_underflow(arithmetic.ds, arithmetic.underflow)) {
  bool unit = false;
  for (const Products* products :
       {&a_.dot, &a_.products, &a_.row_sum, &a_.dq.products, &a_.dk.products, &a_.dv.products}) {
    unit = unit || products->unit.k > 0;
  }
  if (!unit) return;
  const BackwardProblem& p = view.problem;
  q_ = aligned_values(view.q, p.forward.q.format);
  k_ = aligned_values(view.k, p.forward.k.format);
  v_ = aligned_values(view.v, p.forward.v.format);
  d_out_ = aligned_values(view.d_out, p.d_out.format);
  o_ = aligned_values(view.o, p.o.format);
}

RowSource::FixedCost RowSource::fixed_cost(const Products& products, std::int64_t n) const {
  const SumCost cost = cost_of(products, n, n);
  return {growth(cost.log_units), cost.operations * lost_per_operation(products, a_.underflow)};
}

RowTerms RowSource::terms(std::int64_t query_row) const { return Row(*this, query_row).terms(); }

}  // namespace flashproof::bound
