#include "reference/bound/backward/bound.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/columns.h"
#include "reference/bound/backward/pairs.h"
#include "reference/bound/row/row_model.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

#ifdef __FAST_MATH__
#error "flashproof must not be built with -ffast-math: the bounds rely on IEEE arithmetic"
#endif

namespace flashproof {

using backward::View;
using namespace bound;

namespace {

constexpr const char* kSums = "sums over keys or queries below the f32 range";

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
/// inf · 0 inside a sum: the sum was infinite.
double bounded(double x) { return std::isnan(x) ? kInfinity : x; }

/// The ending: roundings of the sum, of the heads, of τ.
class Ending {
 public:
  Ending(const BackwardArithmetic& a, const Accumulation& sum, bool scaled, const AttentionProblem& f)
      : a_(a),
        sum_(sum),
        multiplied_(scaled),
        scale_lost_(scaled && flushes_scale(f, a)),
        factor_(scaled ? std::fabs(static_cast<double>(f.scale)) : 1),
        storage_(f.q.format) {}

  /// `cost` of the sum (the costliest head's where they are apart), `heads` that are added afterwards.
  ElementBound element(const Column& column, const SumCost& cost, double heads, RowDomain& domain) const {
    const double flush = a_.underflow == Underflow::flush ? 0x1p-126 : 0;
    double units = cost.log_units;
    const bool prescaled = a_.factors_scaled && multiplied_;
    if (prescaled) units += roundings(3);  // k̂ = fl(k r), and r = fl(√|τ|) twice; the last product is below
    const double underflow = prescaled ? std::max(flush, 0x1p-150) * 2 : flush;
    const double factor = prescaled ? std::max(factor_, std::sqrt(factor_) * kSlack) : factor_;
    double lost =
        times(factor, cost.operations * lost_per_operation(sum_.products, a_.underflow) + underflow * column.touch);
    if (sum_.heads_apart) {  // fl(τ·sum), stored, added
      units += roundings((multiplied_ ? 1 : 0) + heads - 1) + storage_units(sum_.partial);
      const double product = multiplied_ ? flush > 0 ? (1 + factor_) * flush : 0x1p-150 : 0;
      lost += heads * (product + storage_underflow(sum_.partial, a_.underflow) + 2 * flush);
      if (scale_lost_) lost += times(factor_, column.size);
    }
    ElementBound b;
    b.weights = bounded(factor_ * column.weights * kSlack);
    b.denominator = bounded(factor_ * column.denominator * kSlack);
    b.numerator = bounded(
        (factor_ * (column.numerator + times(growth(units), sum_.products.unit.k > 0 ? column.aligned : column.size)) +
         lost * std::exp(units)) *
        kSlack);
    const double exact = factor_ * (std::fabs(column.exact) + column.exact_slop);
    const double computed = bounded(exact + b.weights + b.denominator + b.numerator);
    const bool product_last = multiplied_ && !sum_.heads_apart;
    if (product_last && storage_ != Format::f32) b.output = computed * kU + 0x1p-150;
    if (flush > 0) b.output += flush * (product_last ? 1 + factor_ : 1);
    if (scale_lost_ && product_last) b.output += computed;
    b.output = bounded(b.output * kSlack);
    b.size = bounded(factor_ * column.size * kSlack);
    b.probable = b.total();
    domain.require({kSums, bounded(std::max(column.size, b.size) * std::exp(units) * kSlack), kF32Max});
    if (sum_.heads_apart) domain.require({kSums, b.size * std::exp(units), info(sum_.partial).max_finite});
    return b;
  }

 private:
  const BackwardArithmetic& a_;
  const Accumulation& sum_;
  bool multiplied_, scale_lost_;
  double factor_;
  Format storage_;
};

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("declared arithmetic: ") + what);
}

}  // namespace

void require_declaration(const BackwardArithmetic& a, Format q, Format o) {
  require(a.exponent != Exponent::subtract_then_scale, "exponent: subtract_then_scale is no form of the backward pass");
  const bool folded = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  require(folded || a.unit == ScoreUnit::natural, "unit: raw scores need a folded scale, exponent fused or unfused");
  require(a.exp_error >= 0 && a.exp_error < 0.5, "exp_error in [0, 1/2)");
  for (const Format format : {a.p, a.ds, a.dp, a.dq.partial, a.dk.partial, a.dv.partial}) {
    require(format == Format::f32 || format == Format::f16 || format == Format::bf16, "formats: f32, f16 or bf16");
  }
  require(!a.dq.heads_apart, "dq.heads_apart: dq is no sum over heads");
  for (const Accumulation* sum : {&a.dk, &a.dv}) {
    require(!sum->heads_any || sum->heads_apart, "heads_any: with heads_apart");
  }
  require(!a.factors_scaled || (a.unit == ScoreUnit::natural && a.scale == GradientScale::output),
          "factors_scaled: natural scores, scale output");
  require(a.delta == DeltaSum::output || a.row_sum.unit.k == 0, "row_sum.unit: none where delta is weights");
  const auto products = [](const Products& p, const char* name) { bound::require_covered(p, name); };
  products(a.dot, "dot");
  products(a.products, "products");
  products(a.row_sum, "row_sum");
  products(a.dq.products, "dq.products");
  products(a.dk.products, "dk.products");
  products(a.dv.products, "dv.products");
  const auto no_unit_on = [&](const Products& p, Format x, Format y, const char* what) {
    // Three products of tf32 for one of f32 lose less than a unit of F = 21 (../foreign_presets.h).
    require(p.unit.k == 0 || p.unit.f <= 21 || (x != Format::f32 && y != Format::f32), what);
  };
  const Format factor = a.factors_scaled ? Format::f32 : q;  // what dS multiplies, too: q and k times fl(√|τ|)
  no_unit_on(a.dot, factor, factor, "dot.unit: q and k must be f16 or bf16, and not scaled beforehand");
  no_unit_on(a.products, q, q, "products.unit: dO and v must be f16 or bf16");
  no_unit_on(a.row_sum, q, o, "row_sum.unit: dO and o must be f16 or bf16");
  no_unit_on(a.dq.products, a.ds, factor,
             "dq.products.unit: dS and k must be f16 or bf16, and k not scaled beforehand");
  no_unit_on(a.dk.products, a.ds, factor,
             "dk.products.unit: dS and q must be f16 or bf16, and q not scaled beforehand");
  no_unit_on(a.dv.products, a.p, q, "dv.products.unit: P and dO must be f16 or bf16");
  require(a.dq.block >= 0 && a.dk.block >= 0 && a.dv.block >= 0, "block: 0 or more");
}

namespace {

void require_covered(const BackwardProblem& problem, const BackwardArithmetic& a, const ForwardErrors& forward) {
  const AttentionProblem& f = problem.forward;
  require_declaration(a, f.q.format, problem.o.format);
  require(a.delta == DeltaSum::output || problem.mode == BackwardMode::gradient,
          "delta: weights only in gradient mode");
  if (std::string why = backward_refused(f, a); !why.empty()) throw UsageError(why);
  const bool gradient = problem.mode == BackwardMode::gradient;
  const auto rows = static_cast<std::size_t>(gradient ? problem.query_rows() : 0);
  const auto errors_fit = [](const std::vector<double>& errors, std::size_t count) {
    return errors.size() == count && std::ranges::all_of(errors, [](double e) { return e >= 0; });
  };
  require(errors_fit(forward.lse, rows) && errors_fit(forward.o, rows * static_cast<std::size_t>(f.value_dim())),
          "forward errors: one number >= 0 per element of lse and o in gradient mode, none in stage mode");
}

class Evaluation {
 public:
  Evaluation(const BackwardProblem& problem, const BackwardArithmetic& arithmetic, const ForwardErrors& forward)
      : view_(problem),
        a_(arithmetic),
        source_(view_, arithmetic, forward),
        flushes_(arithmetic.underflow == Underflow::flush || arithmetic.factors_scaled),
        dk_(problem.key_rows() * view_.d, arithmetic.dk.products.unit.k > 0, flushes_),
        dv_(problem.key_rows() * view_.dv, arithmetic.dv.products.unit.k > 0, flushes_),
        key_terms_(static_cast<std::size_t>(problem.key_rows() * view_.group), 0) {
    result_.dq.resize(static_cast<std::size_t>(problem.query_rows() * view_.d));
    result_.dk.resize(static_cast<std::size_t>(problem.key_rows() * view_.d));
    result_.dv.resize(static_cast<std::size_t>(problem.key_rows() * view_.dv));
    result_.query_domain.resize(static_cast<std::size_t>(problem.query_rows()));
    result_.key_domain.resize(static_cast<std::size_t>(problem.key_rows()));
  }

  Bound run() {
    for (std::int64_t r = 0; r < view_.problem.query_rows(); ++r) query_row(r);
    for (std::int64_t r = 0; r < view_.problem.key_rows(); ++r) key_row(r);
    drop_special(view_.dq_special, result_.dq);
    drop_special(view_.dk_special, result_.dk);
    drop_special(view_.dv_special, result_.dv);
    return std::move(result_);
  }

 private:
  void query_row(std::int64_t r) {
    const RowTerms row = source_.terms(r);
    for (const Weightless& pair : row.weightless) {
      result_.query_domain[r].require(pair.domain.nearest);
      result_.key_domain[pair.key_row].require(pair.domain.nearest);
    }
    if (row.pairs.empty()) return;
    for (const PairTerms& pair : row.pairs) {
      result_.query_domain[r].require(pair.domain.nearest);
      result_.key_domain[pair.key_row].require(pair.domain.nearest);
      add_to_keys(r, pair);
    }
    const bool output_scale = a_.scale == GradientScale::output;
    const Ending ending(a_, a_.dq, output_scale, view_.problem.forward);
    const SumCost cost = cost_of(a_.dq, view_.sk, static_cast<std::int64_t>(row.pairs.size()));
    Columns sums(view_.d, a_.dq.products.unit.k > 0, flushes_);
    std::vector<double> mean(static_cast<std::size_t>(view_.d)),
        mean_slop(mean.size());  // Σ P k: an error of D_i times it
    const double rounding = static_cast<double>(row.pairs.size() + 4) * 0x1p-52;
    for (const PairTerms& pair : row.pairs) {
      const double* k = &view_.k[pair.key_row * view_.d];
      sums.add(0,
               {.exact = pair.ds,
                .exact_slop = pair.ds_slop + rounding * std::fabs(pair.ds),
                .weights = pair.ds_own,
                .numerator = pair.ds_numerator,
                .denominator = pair.ds_delta_rest,
                .size = pair.ds_size,
                .aligned = pair.ds_aligned},
               k, at(source_.aligned_k(), pair.key_row * view_.d), view_.d);
      const double slop = pair.p_slop + rounding * pair.p;
      for (std::int64_t c = 0; c < view_.d; ++c) {
        mean[c] += pair.p * k[c];
        mean_slop[c] += slop * std::fabs(k[c]);
      }
    }
    for (std::int64_t c = 0; c < view_.d; ++c) {
      Column sum = sums[c];
      sum.weights += times(row.common, std::fabs(sum.exact) + sum.exact_slop);
      sum.denominator += times(row.delta, std::fabs(mean[c]) + mean_slop[c]);
      result_.dq[r * view_.d + c] = ending.element(sum, cost, 1, result_.query_domain[r]);
    }
  }

  static const double* at(const AlignedValues& values, std::int64_t first) {
    return values.empty() ? nullptr : &values[first];
  }

  void add_to_keys(std::int64_t r, const PairTerms& pair) {
    const std::int64_t head = r / view_.sq % view_.q_heads % view_.group;
    ++key_terms_[pair.key_row * view_.group + head];
    const double rounding = static_cast<double>(view_.group * view_.sq + 4) * 0x1p-52;
    dk_.add(pair.key_row * view_.d,
            {.exact = pair.ds,
             .exact_slop = pair.ds_slop + rounding * std::fabs(pair.ds),
             .weights = pair.ds_weights,
             .numerator = pair.ds_numerator,
             .denominator = pair.ds_delta,
             .size = pair.ds_size,
             .aligned = pair.ds_aligned},
            &view_.q[r * view_.d], at(source_.aligned_q(), r * view_.d), view_.d);
    dv_.add(pair.key_row * view_.dv,
            {.exact = pair.p,
             .exact_slop = pair.p_slop + rounding * pair.p,
             .weights = pair.p_weights,
             .numerator = pair.p_numerator,
             .size = pair.p_size,
             .aligned = pair.p_aligned},
            &view_.d_out[r * view_.dv], at(source_.aligned_d_out(), r * view_.dv), view_.dv);
  }

  /// Heads in line: one sum over group·Sq queries. Apart: the costliest of them, then as many additions as have a term.
  SumCost key_cost(const Accumulation& sum, std::int64_t key_row, double& heads) const {
    std::int64_t terms = 0;
    SumCost apart;
    heads = 0;
    for (std::int64_t h = 0; h < view_.group; ++h) {
      const std::int64_t of_head = key_terms_[key_row * view_.group + h];
      terms += of_head;
      if (of_head == 0) continue;
      heads += 1;
      const SumCost cost = cost_of(sum, view_.sq, of_head);
      apart.log_units = std::max(apart.log_units, cost.log_units);
      apart.operations += cost.operations;
    }
    const SumCost whole = cost_of(sum, view_.group * view_.sq, terms);
    if (sum.heads_any) {
      apart.log_units = std::max(apart.log_units, whole.log_units);
      apart.operations = std::max(apart.operations, whole.operations);
    }
    return sum.heads_apart ? apart : whole;
  }

  void key_row(std::int64_t r) {
    double heads = 0;
    const SumCost dk_cost = key_cost(a_.dk, r, heads);
    const SumCost dv_cost = key_cost(a_.dv, r, heads);
    if (heads == 0) return;
    const Ending dk_ending(a_, a_.dk, a_.scale == GradientScale::output, view_.problem.forward);
    const Ending dv_ending(a_, a_.dv, false, view_.problem.forward);
    for (std::int64_t c = 0; c < view_.d; ++c) {
      const std::int64_t n = r * view_.d + c;
      result_.dk[n] = dk_ending.element(dk_[n], dk_cost, heads, result_.key_domain[r]);
    }
    for (std::int64_t c = 0; c < view_.dv; ++c) {
      const std::int64_t n = r * view_.dv + c;
      result_.dv[n] = dv_ending.element(dv_[n], dv_cost, heads, result_.key_domain[r]);
    }
  }

  static void drop_special(const std::vector<std::uint8_t>& special, std::vector<ElementBound>& bounds) {
    for (std::size_t n = 0; n < special.size(); ++n) {
      if ((special[n] & (backward::kNotFinite | backward::kIsNaN)) != 0) bounds[n] = {};
    }
  }

  const View view_;
  const BackwardArithmetic& a_;
  const RowSource source_;
  bool flushes_;
  Columns dk_, dv_;
  std::vector<std::int64_t> key_terms_;  // key_rows() x group: weighted queries of each head
  Bound result_;
};

void widen(std::vector<ElementBound>& widest, const std::vector<ElementBound>& other) {
  for (std::size_t i = 0; i < widest.size(); ++i) {
    if (other[i].total() > widest[i].total()) widest[i] = other[i];
  }
}

void require_all(std::vector<RowDomain>& rows, const std::vector<RowDomain>& others) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].require(others[i].nearest);
}

}  // namespace

std::string backward_refused(const AttentionProblem& f, const BackwardArithmetic& a) {
  if (a.unit == ScoreUnit::raw && (f.has_bias() || f.has_alibi())) {
    return "bias, alibi: no bound for raw scores with either, legal: a kernel that declares natural scores";
  }
  return {};
}

Bound backward_bound(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                     const ForwardErrors& forward) {
  require_covered(problem, arithmetic, forward);
  Bound bound = Evaluation(problem, arithmetic, forward).run();
  for (const auto* bounds : {&bound.dq, &bound.dk, &bound.dv}) {
    const auto is_number = [](const ElementBound& b) { return b.total() >= 0; };
    if (!std::ranges::all_of(*bounds, is_number)) {
      throw std::logic_error("a bound is not a number: the evaluation in reference/bound/backward is wrong here");
    }
  }
  return bound;
}

std::string backward_refused(const AttentionProblem& forward, std::span<const BackwardArithmetic> one_of) {
  std::string why;
  for (const BackwardArithmetic& a : one_of) {
    why = backward_refused(forward, a);
    if (why.empty()) break;
  }
  return why;
}

std::vector<std::optional<Bound>> backward_bounds(const BackwardProblem& problem,
                                                  std::span<const BackwardArithmetic> one_of,
                                                  const ForwardErrors& forward) {
  if (const std::string why = backward_refused(problem.forward, one_of); !why.empty()) throw UsageError(why);
  std::vector<std::optional<Bound>> bounds;
  for (const BackwardArithmetic& a : one_of) {
    std::optional<Bound>& bound = bounds.emplace_back();
    if (backward_refused(problem.forward, a).empty()) bound = backward_bound(problem, a, forward);
  }
  return bounds;
}

Bound widest(std::vector<std::optional<Bound>> bounds) {
  std::optional<Bound> widest;
  for (std::optional<Bound>& one : bounds) {
    if (!widest || !one) {
      if (one) widest = std::move(one);
      continue;
    }
    widen(widest->dq, one->dq);
    widen(widest->dk, one->dk);
    widen(widest->dv, one->dv);
    require_all(widest->query_domain, one->query_domain);
    require_all(widest->key_domain, one->key_domain);
  }
  if (!widest) throw std::invalid_argument("a declaration that is one of several: legal: at least one");
  return std::move(*widest);
}

Bound backward_bound(const BackwardProblem& problem, std::span<const BackwardArithmetic> one_of,
                     const ForwardErrors& forward) {
  return widest(backward_bounds(problem, one_of, forward));
}

}  // namespace flashproof
