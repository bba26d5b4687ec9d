#include "reference/bound/backward/test/attack.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/test/reference.h"

namespace flashproof::test {
namespace {

Attack::Output judge(const Balls& truth, const std::vector<double>& computed, const std::vector<ElementBound>& bounds,
                     const std::vector<RowDomain>& domain) {
  Attack::Output result;
  const std::size_t width = domain.empty() ? 1 : bounds.size() / domain.size();
  for (std::size_t n = 0; n < bounds.size(); ++n) {
    const Ball exact = truth[n];
    if (!domain[n / width].holds()) {  // inf, NaN, or a value inside the bound; beyond it a key is lost
      ++result.outside_domain;
      const bool number = (exact.classes & kFinite) != 0 && std::isfinite(exact.radius);
      if (number && std::isfinite(computed[n]) &&
          !(std::fabs(computed[n] - exact.hi - exact.lo) - exact.radius <= bounds[n].total())) {
        ++result.lost_outside;
      }
      continue;
    }
    ++result.elements;
    if ((exact.classes & kFinite) == 0 || (exact.classes != kFinite && std::isnan(computed[n]))) {
      const int found = std::isnan(computed[n]) ? kNaN : computed[n] > 0 ? kPosInf : kNegInf;
      if (std::isfinite(computed[n]) || (exact.classes & found) == 0) ++result.violations;
      continue;
    }
    const double bound = bounds[n].total();
    const double error = std::fabs(computed[n] - exact.hi - exact.lo) - exact.radius;
    if (!(error <= bound)) ++result.violations;
    if (!(error > 0) || !(bound > 0) || std::isinf(bound)) continue;
    const double ratio = error / bound;
    result.worst = std::max(result.worst, ratio);
    const double terms[] = {bounds[n].weights, bounds[n].numerator, bounds[n].denominator, bounds[n].output};
    for (int t = 0; t < 4; ++t) {
      if (terms[t] >= 0.8 * bound) result.by_term[t] = std::max(result.by_term[t], ratio);
    }
  }
  return result;
}

}  // namespace

std::vector<NamedBackward> declared_backward(Format format) {
  std::vector<NamedBackward> result;
  BackwardArithmetic plain{
      .exp_error = 0x1p-22, .dot = {.chains = 4}, .products = {.chains = 2}, .row_sum = {.chains = 1}};
  result.push_back({"accurate", plain});
  BackwardArithmetic base2 = plain;
  base2.exponent = Exponent::scaled_exp2;
  base2.scale = GradientScale::weights;
  result.push_back({"scaled_exp2", base2});
  BackwardArithmetic fused = plain;
  fused.exponent = Exponent::fused;
  result.push_back({"fused", fused});
  BackwardArithmetic split = plain;
  split.exponent = Exponent::unfused;
  split.dq.block = 2;
  split.dk = {.products = {.chains = 2}, .block = 3, .heads_apart = true, .partial = Format::bf16};
  split.dv = split.dk;
  result.push_back({"unfused, split", split});
  BackwardArithmetic flush = fused;
  flush.underflow = Underflow::flush;
  flush.p = flush.ds = Format::bf16;
  result.push_back({"fused, bf16, flush", flush});
  BackwardArithmetic coarse = plain;  // an exponential so bad that every slip of the first term shows
  coarse.exp_error = 0x1p-3;
  result.push_back({"coarse", coarse});
  BackwardArithmetic kept =
      plain;  // PyTorch's math path: D from the weights, products apart, q and k scaled beforehand
  kept.factors_scaled = kept.apart = true;
  kept.delta = DeltaSum::weights;
  result.push_back({"kept, factors scaled", kept});
  BackwardArithmetic narrow = plain;  // JAX's: dP stored, and heads in a sum of their own or not
  narrow.p = narrow.ds = narrow.dp = Format::bf16;
  narrow.scale = GradientScale::weights;
  narrow.stored_weights = narrow.apart = true;
  narrow.dk = {.products = {.chains = 1}, .heads_apart = true, .partial = Format::bf16, .heads_any = true};
  narrow.dv = narrow.dk;
  result.push_back({"narrow dP, stored P", narrow});
  if (format == Format::f32) return result;
  const Products unit{.unit = kHopperF16};
  BackwardArithmetic fa2{.exponent = Exponent::fused,
                         .unit = ScoreUnit::natural,
                         .exp_error = 0x1p-22,
                         .dot = unit,
                         .products = unit,
                         .row_sum = {.chains = 1},
                         .p = format,
                         .ds = format,
                         .dq = {.products = unit, .block = 4},
                         .dk = {.products = unit, .heads_apart = true, .partial = format},
                         .dv = {.products = unit, .heads_apart = true, .partial = format}};
  result.push_back({"matrix unit", fa2});
  fa2.unit = ScoreUnit::raw;
  result.push_back({"matrix unit, raw", fa2});
  fa2.dot.unit = fa2.dq.products.unit = fa2.dk.products.unit = fa2.dv.products.unit = {.k = 4, .f = 13, .ofb = 13};
  result.push_back({"coarse unit, raw", fa2});
  return result;
}

BackwardRoundings any_roundings(Random& random) {
  constexpr Lean kLeans[] = {Lean::nearest, Lean::up, Lean::down, Lean::extreme, Lean::aligned, Lean::opposed};
  return {.lean = kLeans[random.integer(0, 5)],
          .seed = random.next_u64(),
          .target = static_cast<BackwardTarget>(random.integer(0, 2)),
          .column = random.integer(0, 7),
          .shuffled = random.chance(0.5)};
}

bool takes(const BackwardArithmetic& arithmetic, const BackwardProblem& problem) {
  const bool biased = problem.forward.has_bias() || problem.forward.has_alibi();
  const bool unit_on_f32 = arithmetic.dot.unit.k > 0 && problem.forward.q.format == Format::f32;
  const bool kept = arithmetic.delta == DeltaSum::weights && problem.mode == BackwardMode::stage;
  return !(arithmetic.unit == ScoreUnit::raw && biased) && !unit_on_f32 && !kept;
}

ForwardErrors rounding_errors(const BackwardProblem& problem, Format as) {
  ForwardErrors errors;
  if (problem.mode == BackwardMode::stage) return errors;
  const ReferenceResult<double> exact = reference<double>(problem.forward);
  for (const double lse : exact.lse) errors.lse.push_back(std::isinf(lse) ? 0 : 0x1.01p-24 * std::fabs(lse) + 0x1p-45);
  for (const double o : exact.o) {
    errors.o.push_back(1.001 * unit_roundoff(as) * std::fabs(o) + min_subnormal(as) + 0x1p-44 * std::fabs(o));
  }
  return errors;
}

void Attack::Output::operator+=(const Output& other) {
  elements += other.elements;
  outside_domain += other.outside_domain;
  violations += other.violations;
  lost_outside += other.lost_outside;
  worst = std::max(worst, other.worst);
  for (int t = 0; t < 4; ++t) by_term[t] = std::max(by_term[t], other.by_term[t]);
}

void Attack::operator+=(const Attack& other) {
  dq += other.dq;
  dk += other.dk;
  dv += other.dv;
}

std::string Attack::text() const {
  std::string result;
  const auto line = [&](const char* name, const Output& o) {
    char buffer[256];
    std::snprintf(
        buffer, sizeof buffer,
        "%s %lld (+%lld out) violations %lld (+%lld lost) worst %.3f, where a term rules: weights %.3f numerator "
        "%.3f denominator %.3f output %.3f; ",
        name, static_cast<long long>(o.elements), static_cast<long long>(o.outside_domain),
        static_cast<long long>(o.violations), static_cast<long long>(o.lost_outside), o.worst, o.by_term[0],
        o.by_term[1], o.by_term[2], o.by_term[3]);
    result += buffer;
  };
  line("dq", dq);
  line("dk", dk);
  line("dv", dv);
  return result;
}

Attack attack(const BackwardProblem& problem, const Truth& truth, const Bound& bound,
              const BackwardArithmetic& executed, const BackwardRoundings& roundings) {
  const UnroundedGradients g = run_backward_model(problem, executed, roundings);
  return {judge(truth.dq, g.dq, bound.dq, bound.query_domain), judge(truth.dk, g.dk, bound.dk, bound.key_domain),
          judge(truth.dv, g.dv, bound.dv, bound.key_domain)};
}

Attack attack(const BackwardProblem& problem, const BackwardArithmetic& executed, const BackwardArithmetic& declared,
              const ForwardErrors& forward, const BackwardRoundings& roundings) {
  return attack(problem, backward_truth(problem, Format::f32), backward_bound(problem, declared, forward), executed,
                roundings);
}

}  // namespace flashproof::test
