#include "reference/bound/backward/test/attack_extreme.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/model/attack/attack_draws.h"
#include "reference/model/attack/attack_magnitudes.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/test/reference.h"

namespace flashproof::test {
namespace {

using attack::any_of;
using attack::exponent;
using attack::put;
using attack::significand;
using attack::target;

constexpr std::uint64_t kStream = 77;

struct Extents {
  std::int64_t batch, q_heads, k_heads, sq, sk, d, dv;
};

Extents extents(Random& random) {
  Extents e{};
  e.batch = random.chance(0.9) ? 1 : 2;
  e.k_heads = random.chance(0.9) ? 1 : 2;
  e.q_heads = e.k_heads * (random.chance(0.6) ? 1 : random.integer(2, 4));
  e.sq = random.chance(0.5) ? 1 : random.integer(2, 4);
  e.sk = random.chance(0.85) ? random.integer(1, 4) : random.integer(5, 24);
  e.d = random.chance(0.6) ? 1 : random.integer(2, 6);
  e.dv = random.chance(0.6) ? 1 : random.integer(2, 6);
  return e;
}

double any_number(Random& random, int e) { return attack::sign(random) * std::ldexp(significand(random), e); }

/// What is added to a score: beside it, or of any size.
double term(Random& random) {
  return any_number(random, random.chance(0.5) ? target(random) : exponent(random, Format::f32));
}

void fill_scores(Random& random, AttentionProblem& p, Format format) {
  const attack::ScoreExponents e = attack::score_exponents(random, format, format, false);
  p.scale = attack::number(random.chance(0.02) ? 0 : any_number(random, e.scale));
  if (random.chance(0.5)) p.scale = std::fabs(p.scale);
  const bool one_sign = random.chance(0.6);
  const auto fill = [&](Tensor& to, int size, double share_apart) {
    for (std::int64_t n = 0; n < to.elements(); ++n) {
      const int away = random.chance(0.7) ? 0 : static_cast<int>(random.integer(-12, 0));
      const double x = any_number(random, random.chance(share_apart) ? exponent(random, format) : size + away);
      put(to, n, random.chance(0.04) ? 0 : one_sign ? std::fabs(x) : x);
    }
  };
  fill(p.q, e.q, 0.15);
  fill(p.k, e.k, 0.15);
}

void add_features(Random& random, AttentionProblem& p) {
  const Extents e{p.batch(), p.q_heads(), p.k_heads(), p.q_length(), p.k_length(), p.head_dim(), p.value_dim()};
  if (random.chance(0.2)) {
    p.bias = Tensor::dense(Format::f32, {e.batch, e.q_heads, e.sq, e.sk});
    const double shared = term(random);
    for (std::int64_t n = 0; n < p.bias.elements(); ++n) {
      const double x = random.chance(0.5) ? shared : term(random);
      p.bias.set_bits(n, encode(Format::f32, random.chance(0.05) ? -std::numeric_limits<double>::infinity() : x,
                                Overflow::saturate));
    }
  }
  if (random.chance(0.15)) {
    p.alibi = Tensor::dense(Format::f32, {e.batch, e.q_heads});
    for (std::int64_t n = 0; n < p.alibi.elements(); ++n) put(p.alibi, n, term(random));
  }
  p.causal = random.chance(0.2);
  if (random.chance(0.1)) p.window_left = static_cast<std::int32_t>(random.integer(0, e.sk));
  if (random.chance(0.1)) p.window_right = static_cast<std::int32_t>(random.integer(0, e.sk));
}

/// Exponents of dO and v. Where a gradient is small, large, at the end of f32 or of the format that dS is stored in: that
/// of dP, of τ·dP, or of τ·dP·k is aimed at, k by its largest.
int output_exponent(Random& random, const AttentionProblem& f, int v) {
  const Format format = f.q.format;
  if (random.chance(0.3)) return exponent(random, format);
  double largest = 0;
  for (std::int64_t n = 0; n < f.k.elements(); ++n) largest = std::max(largest, std::fabs(decode(format, f.k.bits(n))));
  int others = v;
  if (f.scale != 0 && random.chance(0.6)) others += std::ilogb(f.scale);
  if (largest > 0 && random.chance(0.4)) others += std::ilogb(largest);
  const int wanted = random.chance(0.5) ? target(random)
                                        : any_of(random, {-149, -133, -126, -125, -25, -14, 15, 16, 120, 126, 127}) +
                                              static_cast<int>(random.integer(-2, 1));
  return std::clamp(wanted - others, std::ilogb(min_subnormal(format)), std::ilogb(info(format).max_finite));
}

void fill_values(Random& random, BackwardProblem& p) {
  const Format format = p.forward.q.format;
  attack::Values value(random, format);
  for (std::int64_t n = 0; n < p.forward.v.elements(); ++n) put(p.forward.v, n, value(n / p.forward.value_dim()));
  const int size = output_exponent(random, p.forward, value.size);
  const bool one_sign = random.chance(0.5);
  for (std::int64_t n = 0; n < p.d_out.elements(); ++n) {
    const double x = any_number(random, random.chance(0.9) ? size : exponent(random, format));
    put(p.d_out, n, random.chance(0.03) ? 0 : one_sign ? std::fabs(x) : x);
  }
}

/// Of a stage whatever numbers are legal: weights far above 1 and far below, D near dP or far from it.
void put_any_stage(Random& random, BackwardProblem& p) {
  for (std::int64_t n = 0; n < p.lse.elements(); ++n) {
    const double by = random.chance(0.5) ? random.uniform(-90, 110) : random.uniform(-2, 2);
    put(p.lse, n, random.chance(0.9) ? decode(Format::f32, p.lse.bits(n)) + by : term(random));
  }
  if (random.chance(0.5)) return;
  for (std::int64_t n = 0; n < p.o.elements(); ++n) put(p.o, n, any_number(random, exponent(random, p.o.format)));
}

/// o and lse of a forward pass that errs by its last roundings alone or by any share, and what they are off by.
ForwardErrors put_forward_errors(Random& random, BackwardProblem& p) {
  const ReferenceResult<double> exact = reference<double>(p.forward);
  ForwardErrors errors;
  const bool rounded = random.chance(0.4);
  const double lse_share = rounded ? 0 : std::ldexp(1, static_cast<int>(random.integer(-24, -2)));
  const double o_share = rounded ? 0 : std::ldexp(1, static_cast<int>(random.integer(-24, -1)));
  const double lse_beside = rounded || random.chance(0.5) ? 0 : std::ldexp(1, static_cast<int>(random.integer(-24, 2)));
  const auto part = [&] { return random.chance(0.5) ? attack::sign(random) : random.uniform(-1, 1); };
  double largest = 0;  // of v: what an o that cancels is off by in doubles
  for (std::int64_t n = 0; n < p.forward.v.elements(); ++n) {
    largest = std::max(largest, std::fabs(decode(p.forward.v.format, p.forward.v.bits(n))));
  }
  for (std::size_t n = 0; n < exact.lse.size(); ++n) {
    const double lse = exact.lse[n];
    errors.lse.push_back(0);
    if (!std::isfinite(lse)) continue;
    const auto at = static_cast<std::int64_t>(n);
    put(p.lse, at, lse + part() * (lse_share * std::fabs(lse) + lse_beside));
    errors.lse[n] = std::fabs(decode(Format::f32, p.lse.bits(at)) - lse) + 0x1p-44 * (1 + std::fabs(lse));
  }
  for (std::size_t n = 0; n < exact.o.size(); ++n) {
    const double o = exact.o[n];
    const auto at = static_cast<std::int64_t>(n);
    put(p.o, at, o + part() * o_share * std::fabs(o));
    errors.o.push_back(std::fabs(decode(p.o.format, p.o.bits(at)) - o) + 0x1p-44 * largest);  // 65504 of 1e18, too
  }
  return errors;
}

Products any_products(Random& random, bool unit) {
  if (!unit || random.chance(0.4)) return {.chains = static_cast<int>(random.integer(1, 9))};
  return {.unit = attack::any_unit(random)};
}

Accumulation any_accumulation(Random& random, bool unit, bool keys) {
  Accumulation sum{.products = any_products(random, unit), .block = static_cast<int>(random.integer(0, 4))};
  sum.heads_apart = keys && random.chance(0.5);
  if (sum.heads_apart) sum.partial = any_of(random, {Format::f32, Format::f16, Format::bf16});
  sum.heads_any = sum.heads_apart && random.chance(0.5);
  return sum;
}

/// At least that of an f32 next to the exact value.
double any_error(Random& random) {
  if (random.chance(0.05)) return random.uniform(0.25, 0.499);
  return std::ldexp(1, -static_cast<int>(random.integer(2, 24)));
}

}  // namespace

ExtremeBackward extreme_backward(std::uint64_t seed) {
  Random random(seed, kStream);
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
  const Format format = kFormats[random.integer(0, 2)];
  const Extents e = extents(random);
  ExtremeBackward made;
  BackwardProblem& p = made.problem;
  AttentionProblem& f = p.forward;
  f.q = Tensor::dense(format, {e.batch, e.q_heads, e.sq, e.d});
  f.k = Tensor::dense(format, {e.batch, e.k_heads, e.sk, e.d});
  f.v = Tensor::dense(format, {e.batch, e.k_heads, e.sk, e.dv});
  f.plan = ChunkPlan::uniform(e.sk, e.sk);
  p.d_out = Tensor::dense(format, {e.batch, e.q_heads, e.sq, e.dv});
  p.mode = random.chance(0.5) ? BackwardMode::stage : BackwardMode::gradient;
  fill_scores(random, f, format);
  if (random.chance(0.5)) add_features(random, f);
  fill_values(random, p);
  fill_forward(p, random.chance(0.6) ? format : kFormats[random.integer(0, 2)]);
  if (p.mode == BackwardMode::gradient) {
    made.forward = put_forward_errors(random, p);
  } else if (random.chance(0.6)) {
    put_any_stage(random, p);
  }
  return made;
}

BackwardArithmetic any_declaration(Random& random, const BackwardProblem& problem) {
  const AttentionProblem& f = problem.forward;
  const auto format = [&] { return random.chance(0.5) ? Format::f32 : any_of(random, {Format::f16, Format::bf16}); };
  BackwardArithmetic a;
  a.exponent = any_of(random, {Exponent::accurate, Exponent::scaled_exp2, Exponent::fused, Exponent::unfused});
  const bool folded = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  const bool raw = folded && !f.has_bias() && !f.has_alibi() && random.chance(0.5);
  a.unit = raw ? ScoreUnit::raw : ScoreUnit::natural;
  a.exp_error = any_error(random);
  a.p = format();
  a.ds = format();
  a.dp = format();
  a.scale = random.chance(0.5) ? GradientScale::weights : GradientScale::output;
  a.factors_scaled = !raw && a.scale == GradientScale::output && random.chance(0.3);
  a.stored_weights = random.chance(0.5);
  a.apart = random.chance(0.5);
  const bool gradient = problem.mode == BackwardMode::gradient;
  a.delta = gradient && random.chance(0.5) ? DeltaSum::weights : DeltaSum::output;
  a.underflow = random.chance(0.5) ? Underflow::flush : Underflow::gradual;
  // The model's units multiply 16-bit factors: those of f32 (as three products of tf32) are a preset's, with tests there.
  const bool narrow = f.q.format != Format::f32, factors = narrow && !a.factors_scaled;
  a.dot = any_products(random, factors);
  a.products = any_products(random, narrow);
  a.row_sum = any_products(random, narrow && problem.o.format != Format::f32 && a.delta == DeltaSum::output);
  a.dq = any_accumulation(random, factors && a.ds != Format::f32, false);
  a.dk = any_accumulation(random, factors && a.ds != Format::f32, true);
  a.dv = any_accumulation(random, narrow && a.p != Format::f32, true);
  return a;
}

BackwardArithmetic any_execution(Random& random, const BackwardArithmetic& declared) {
  BackwardArithmetic executed = declared;
  for (Accumulation* sum : {&executed.dk, &executed.dv}) {
    if (sum->heads_any && random.chance(0.5)) sum->heads_apart = sum->heads_any = false;
  }
  return executed;
}

}  // namespace flashproof::test
