#include "reference/bound/attention/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/vector/kernels.h"
#include "reference/bound/vector/key_loops.h"

namespace flashproof::bound {

namespace {

constexpr double kFinite = std::numeric_limits<double>::max();
constexpr double kSafe = 1 + 0x1p-20;  // covers evaluating the score itself in double: (d + 2) 2^-52 against c_d >= 3u
constexpr double kLog2e = 0x1.71547652b82fep0;
constexpr double kHopeless = 0x1p100;  // relative, of a quotient by a number that may be 0

/// As kernels::score_dots(), but for roundings.
void score_one(const DotCosts& c, const DotInputs& in, std::int64_t j, const DotOutputs& out) {
  const double x = c.scale * in.dot[j];
  const double stored = c.query_relative * in.size[j] + c.query_absolute * in.k_sum[j];
  const double exact = c.query_scale * in.size[j] + stored;
  const double cut = c.tf32 * exact + c.cut_k * in.k_sum[j] + c.cut_fixed;
  const double all = exact + cut;
  const double step = in.k_tiny[j] > 0 ? c.tiny_step : 0;
  const double subnormal = c.per_k_max * std::max(in.k_max[j], c.least_k_max) + c.per_k_tiny * in.k_tiny[j] + step;
  const double t = stored + cut + subnormal + (c.depth * all + c.operations);
  const double scaled = std::fabs(x) + c.tau * t;
  out.value[j] = x;
  out.dot[j] = t;
  out.error[j] = c.tau * t + (c.product_lost * scaled + c.product_fixed);
  out.own[j] = c.tau * c.own_depth * all + c.product * scaled;
  out.largest[j] = std::max(all * (1 + c.depth), scaled * c.product_size);
}

void score_all(const DotCosts& costs, const DotInputs& in, std::int64_t n, const DotOutputs& out) {
  if (kernels::supported()) return kernels::score_dots(costs, in, n, out);
  for (std::int64_t j = 0; j < n; ++j) score_one(costs, in, j, out);
}

}  // namespace

int fraction_bits(Format format, bool tf32) {
  const int bits = info(format).precision - 1;
  return tf32 ? std::min(bits, 10) : bits;
}

// K + 1 addends, the products and c, are cut at 2^(e−F), each by less than that; one with the largest exponent is not cut
// at all unless its own fraction is longer than F. 2^e is at most the largest addend, hence at most |c| + Σ|a b|, and
// cutting the sum to ofb bits costs 2^-ofb of it.
double unit_step(const BlockFma& unit, int product_bits, int accumulator_bits) {
  const bool all_cut = std::max(product_bits, accumulator_bits) > unit.f;
  const double cut = std::ldexp(unit.k + (all_cut ? 1 : 0), -unit.f);
  return std::log1p(cut + std::ldexp(1 + cut, -unit.ofb));
}

double unit_underflow(const BlockFma& unit) {
  // A subnormal c has exponent −126 all the same, and every addend is cut at 2^(−126−F) beside it. The result is cut to a
  // multiple of 2^-149, or of 2^(-126-ofb) where the unit's own fraction is shorter.
  return std::ldexp(unit.k + 1, -126 - unit.f) + std::ldexp(1, std::max(-149, -126 - unit.ofb));
}

namespace {

/// One f32 product of numbers whose exact product this is: what it may err by, relatively. 0 where it is exact; an f32 lies
/// nowhere nearer to x than 0, so 1 is the most.
double product_error(double product, bool flushed_input, const Arithmetic& a) {
  const double size = std::fabs(product);
  if (size == 0) return 0;
  const bool flush = a.underflow == Underflow::flush;
  if (flush && (flushed_input || size < 2 * kMinNormal)) return 1;
  if (round_to(Format::f32, product) == product) return 0;
  return std::min(1.0, kU + product_underflow(a) / size);
}

bool subnormal(double x) { return std::fabs(x) < kMinNormal; }

/// τ^ = fl(fl(scale·q_descale)·k_descale).
void descale(const AttentionProblem& p, const Arithmetic& a, std::int64_t s, std::int64_t kv, ScoreScale& result) {
  const double scale = p.scale;
  const double q = AttentionProblem::descale(p.q_descale, s, kv), k = AttentionProblem::descale(p.k_descale, s, kv);
  const double first = scale * q;  // exact
  result.tau = {first * k};        // within 2^-53
  const double one = product_error(first, subnormal(scale) || subnormal(q), a);
  double second = product_error(result.tau.factor, subnormal(first) || subnormal(k), a);
  // Of a rounded first factor nothing is known but its size, nor whether the second product is exact.
  if (one > 0 || std::fma(first, k, -result.tau.factor) != 0) {
    second = std::max(second, std::min(1.0, kU + product_underflow(a) / std::fabs(result.tau.factor)));
  }
  result.tau_error = (1 + one) * (1 + second) - 1;
  if (result.tau.factor == 0) result.tau_error = 0;
  result.tau_largest = std::max(std::fabs(first), std::fabs(result.tau.factor)) * (1 + result.tau_error);
}

}  // namespace

ScoreScale score_scale(const AttentionProblem& p, const Arithmetic& a, std::int64_t s, std::int64_t kv) {
  ScoreScale result{.tau = {p.scale}};
  const bool descaled = !p.q_descale.shape.empty() || !p.k_descale.shape.empty();
  if (descaled) descale(p, a, s, kv, result);
  if (a.unit == ScoreUnit::raw) result.unit = {p.softcap != 0 ? p.softcap : result.tau.factor};
  if (a.unit == ScoreUnit::raw && p.softcap == 0) result.unit_error = result.tau_error;
  if (a.unit == ScoreUnit::raw && p.softcap != 0) {
    result.tau_per_cap = std::fabs(result.tau.factor) * (1 + result.tau_error) / p.softcap * (1 + 0x1p-20);
  }
  // Folded by the host, from the double or the float log2 e: whichever errs more.
  const float from_double = static_cast<float>(result.unit.factor * kLog2e);
  const float from_float = static_cast<float>(result.unit.factor) * static_cast<float>(kLog2e);
  result.c_hat = {from_double};
  for (const double c : {static_cast<double>(from_double), static_cast<double>(from_float)}) {
    const bool lost = a.underflow == Underflow::flush && std::fabs(c) < kMinNormal;
    result.c_error = std::max(result.c_error, lost ? 1 : std::fabs(c / (result.unit.factor * kLog2e) - 1) + 0x1p-50);
  }
  result.c_error = std::min(result.c_error, kHopeless);  // an infinite ĉ is out of the domain
  if (result.unit_error > 0) {  // of τ^, whatever number within its error that is, by either way
    const double product = std::fabs(result.c_hat.factor) < 0x1p-120 ? 1 : kU * (2 + kU);
    result.c_error = (1 + result.unit_error) * (1 + product) - 1;
  }
  return result;
}

ScoreModel::ScoreModel(const AttentionProblem& p, const Arithmetic& a, const ScoreScale& scale)
    : p_(p),
      a_(a),
      scale_(scale),
      raw_(a.unit == ScoreUnit::raw),
      flush_(a.underflow == Underflow::flush),
      scaled_query_(a.query_scaled || a.query != Format::f32),
      tau_(std::fabs(scale.tau.factor)),
      tau_error_(scale.tau_error),
      unit_inverse_error_(scale.unit_error < 0.5 ? scale.unit_error / (1 - scale.unit_error) : kHopeless),
      eta_(product_underflow(a)),
      sum_eta_(flush_ ? 2 * kMinNormal : 0) {
  const auto d = static_cast<double>(p.head_dim());
  const Products& sum = a.dot;
  const bool unit = sum.unit.k > 0;
  const Format q_format = scaled_query_ ? a.query : p.q.format;
  if (scaled_query_) {
    const bool narrow = a.query != Format::f32;
    const double rounded = growth(roundings(1) + (narrow ? std::log1p(unit_roundoff(a.query)) : 0));
    // Flushed, a subnormal τ takes every query with it.
    query_relative_ = (1 + rounded) * (1 + tau_error_) - (flush_ && tau_ * (1 - tau_error_) < kMinNormal ? 0 : 1);
    query_absolute_ = eta_ + (narrow ? min_subnormal(a.query) / 2 : 0) + (flush_ ? kMinNormal : 0);
  }
  if (sum.tf32_inputs) {  // toward zero, each by less than 2^-10 of itself; 10 fraction bits or fewer are exact
    const int cut = (fraction_bits(q_format, false) > 10) + (fraction_bits(p.k.format, false) > 10);
    tf32_ = std::expm1(cut * std::log1p(0x1p-10));
  }
  q_normal_ = min_normal(q_format);
  k_normal_ = min_normal(p.k.format);
  if (unit) {
    const int bits = fraction_bits(q_format, sum.tf32_inputs) + fraction_bits(p.k.format, sum.tf32_inputs);
    const double per_segment = sum.promote > 0 ? std::min<double>(sum.promote, d) : d;
    const double segments = std::ceil(d / per_segment), steps = std::ceil(per_segment / sum.unit.k);
    const double all_steps = segments * steps, added = segments - 1;
    depth_ = growth(steps * unit_step(sum.unit, bits, sum.unit.ofb) + roundings(added));
    // A unit keeps what is subnormal. Where scalar operations flush, the next one that reads it does not: each sum of a
    // promotion, the first too, or whatever reads t̂.
    const double read = !flush_ ? 0 : sum.promote > 0 ? segments * sum_eta_ : kMinNormal;
    operations_ = (all_steps * unit_underflow(sum.unit) + read) * (1 + depth_);
    cut_ = all_steps * std::ldexp(sum.unit.k + 1, -sum.unit.f) * (1 + depth_);
  } else {
    // One fma per column of a chain, then a binary tree over the chains.
    const std::int64_t longest = (p.head_dim() + sum.chains - 1) / sum.chains;
    depth_ = growth(roundings(static_cast<double>(longest + log2_ceil(sum.chains))));
    operations_ = (d * eta_ + sum.chains * sum_eta_) * (1 + depth_);
  }
}

Precondition ScoreModel::query_range(const QueryRow& q) const {
  const double limit = info(scaled_query_ ? a_.query : Format::f32).max_finite;
  const double value = scaled_query_ ? tau_ * q.largest * (1 + query_relative_) : 0;
  return {"scaled query below its format's range", value, limit};
}

// Scores without softcap and what follows: error, own and the largest magnitude of the dot product and of its product with
// the scale. Costs that a declaration does not have are coefficients of 0.
void ScoreModel::score_dots(const double* dot, const double* size, const QueryRow& q, const AttentionHead& head,
                            std::int64_t first, std::int64_t count, Scores& to) const {
  const bool unit = a_.dot.unit.k > 0;
  DotCosts costs{.scale = scale_.tau.factor};
  double q_sum = q.sum, q_max = q.largest;
  if (scaled_query_) {
    // A subnormal q is gone before it is scaled, where those are flushed.
    costs.query_absolute = query_absolute_ + (flush_ ? tau_ * (1 + tau_error_) * std::min(q.tiny, kMinNormal) : 0);
    costs.query_relative = query_relative_ * tau_;
    costs.query_scale = tau_;
    q_sum = tau_ * q_sum * (1 + query_relative_) + costs.query_absolute * static_cast<double>(p_.head_dim());
    q_max = tau_ * q_max * (1 + query_relative_) + costs.query_absolute;
  }
  if (tf32_ > 0) {  // subnormals lose 13 bits of 2^-149
    costs.tf32 = tf32_;
    costs.cut_k = 0x1p-136;
    costs.cut_fixed = 0x1p-136 * q_sum + 0x1p-149;
  }
  if (unit) {
    // A product's exponent is that of its factors: the least of the format where one is subnormal.
    costs.per_k_max = q.tiny > 0 || scaled_query_ ? cut_ * q_normal_ : 0;
    costs.least_k_max = k_normal_;
    costs.tiny_step = cut_ * k_normal_ * std::max(q_max, q_normal_);
  } else if (flush_) {
    costs.per_k_max = q.tiny;
    costs.per_k_tiny = q_max;
  }
  costs.depth = depth_;
  costs.own_depth = unit ? 0 : depth_;
  costs.operations = operations_;
  costs.tau = scaled_query_ ? 1 : tau_ * (1 + tau_error_);
  if (!raw_ && !scaled_query_) {  // the product with the scale, which may be flushed itself
    costs.product = kU;
    costs.product_lost = tau_error_ + kU * (1 + tau_error_) + (flush_ && tau_ < kMinNormal ? 1 : 0);
    costs.product_fixed = eta_;
    costs.product_size = (1 + kU) * (1 + tau_error_);
  }
  const DotInputs in{dot, size, &head.k_sum[first], &head.k_max[first], &head.k_tiny[first]};
  score_all(costs, in, count, {to.value.data(), to.error.data(), to.own.data(), to.largest.data(), to.dot.data()});
  std::int64_t odd = 0;
  for (std::int64_t j = 0; j < count; ++j) odd |= std::fabs(to.value[j]) <= kFinite ? 0 : 1;
  // Nothing is known of a dot product that is not finite.
  for (std::int64_t j = 0; odd != 0 && j < count; ++j) {
    if (std::isfinite(to.value[j])) continue;
    to.dot[j] = to.own[j] = to.largest[j] = 0;
    to.error[j] = costs.product_fixed;
  }
}

// c·tanh(x/c) has slope 1 / cosh^2, at most 1 and at most 4 e^{−2|x|/c}.
void ScoreModel::add_softcap(const double* dot, std::int64_t count, Scores& to) const {
  const double cap = p_.softcap;
  const bool gone = raw_ && flush_ && tau_ * (1 - tau_error_) < kMinNormal;  // τ, as it is divided by the cap
  const double argument = raw_ ? (1 + growth(roundings(2))) * (1 + tau_error_) - (gone ? 0 : 1) : growth(roundings(1));
  for (std::int64_t j = 0; j < count; ++j) {
    const double x = to.value[j];
    double error = 0;
    if (std::isinf(x)) {  // tanh(±inf) = ±1
      to.value[j] = std::copysign(cap, x);
    } else {
      const double before = to.error[j];
      error = before + argument * (std::fabs(x) + before) + cap * (eta_ + sum_eta_);
      if (raw_) error += cap * (std::fabs(dot[j]) + to.dot[j]) * eta_;  // fl(τ/c) may be subnormal
      const double slope = 4 * std::exp(-2 * std::max(0.0, std::fabs(x) - error) / cap);
      error *= std::min(1.0, slope * kSafe);
      to.own[j] = std::min(before > 0 ? to.own[j] : 0, error);
      to.value[j] = cap * std::tanh(x / cap);
    }
    error += cap * (a_.tanh_error + 0x1p-48 + (flush_ ? kMinNormal : 0));
    if (!raw_) error += kU * (std::fabs(to.value[j]) + error) + eta_;
    to.error[j] = error;
  }
}

/// The sum of a score and a term, rounded. `formed`: the largest number formed on the way to any term, at least.
template <class Term, class TermError>
void ScoreModel::add(std::int64_t count, Scores& to, double formed, Term&& term, TermError&& term_error) const {
  const double unit = scale_.unit.factor, lost = scale_.unit(Raw{sum_eta_}).count;
  double* __restrict const value = to.value.data();
  double* __restrict const error = to.error.data();
  double* __restrict const own = to.own.data();
  double* __restrict const largest = to.largest.data();
  for (std::int64_t j = 0; j < count; ++j) {
    const double added = std::max(std::fabs(term(j)) + term_error(j), formed);  // may leave the range alone
    value[j] += term(j);
    error[j] += term_error(j);
    error[j] += kU * (std::fabs(value[j]) + error[j]) + lost;
    const double most = std::fabs(value[j]) + error[j];
    own[j] += kU * most;
    largest[j] = std::max(largest[j], std::max(most, added) / unit);
  }
}

void ScoreModel::add_bias(const double* bias, std::int64_t count, Scores& to) const {
  const double relative = raw_ ? growth(roundings(1)) + quotient_error() : 0;
  const double absolute = (raw_ ? scale_.unit(Raw{eta_ + sum_eta_}).count : 0) + (flush_ ? kMinNormal : 0);
  add(
      count, to, 0, [&](std::int64_t j) { return bias[j]; },
      [&](std::int64_t j) { return relative * std::fabs(bias[j]) + absolute; });
}

/// What the distances i + Sk − Sq − j of the keys [first, first + count) add.
void ScoreModel::add_distances(const ScoreTerms& terms, std::int64_t first, std::int64_t count, Scores& to) const {
  const std::int64_t distance = p_.distance(terms.sequence, terms.query, first);
  const double slope = p_.has_alibi() ? p_.alibi.at({terms.sequence, terms.head}) : 0;
  if (slope == 0) return;
  const int rounded = raw_ ? 2 : 1;
  const double near = (growth(roundings(rounded)) + quotient_error()) * std::fabs(slope);
  const double far = (growth(roundings(rounded + 1)) + quotient_error()) * std::fabs(slope);
  const double tiny = (raw_ ? scale_.unit(Raw{eta_ + sum_eta_}).count : 0) + (flush_ ? kMinNormal : 0);
  const double fixed = scale_.unit(Raw{eta_}).count;
  const auto away = [&](std::int64_t j) { return std::fabs(static_cast<double>(distance - j)); };
  add(
      count, to, std::fabs(slope) + near, [&](std::int64_t j) { return -slope * away(j); },
      [&](std::int64_t j) { return ((away(j) > 0x1p24 ? far : near) + tiny) * away(j) + fixed; });
}

void ScoreModel::score(const double* dot, const double* size, const QueryRow& q, const AttentionHead& head,
                       std::int64_t first, std::int64_t count, const ScoreTerms& terms, Scores& to) const {
  score_dots(dot, size, q, head, first, count, to);
  if (p_.softcap != 0) add_softcap(dot, count, to);
  if (terms.bias != nullptr) add_bias(terms.bias, count, to);
  if (p_.counts_distances()) add_distances(terms, first, count, to);
  for (std::int64_t j = 0; j < count; ++j) to.error[j] *= kSafe;
}

void ScoreModel::sink(double value, Scores& to) const {
  double error = 0;
  if (raw_)
    error = (growth(roundings(1)) + quotient_error()) * std::fabs(value) + scale_.unit(Raw{eta_ + sum_eta_}).count;
  if (flush_) error += kMinNormal;
  to.value[0] = value;
  to.error[0] = error;
  to.own[0] = 0;
  to.largest[0] = scale_.unit.inverse(Nats{std::fabs(value) + error}).count;
}

}  // namespace flashproof::bound
