#include "reference/model/attack/attack_extreme.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/bound/declare/declaration.h"
#include "reference/model/attack/attack_draws.h"
#include "reference/model/attack/attack_magnitudes.h"
#include "reference/model/attack/attack_problems.h"

namespace flashproof::attack {

namespace {

constexpr std::uint64_t kStream = 41, kEdgeStream = 410;

/// One change after the other, each kept if the declaration still has a meaning.
void widen(Random& random, Arithmetic& a) {
  const auto change = [&](double probability, auto&& how) {
    if (!random.chance(probability)) return;
    Arithmetic changed = a;
    how(changed);
    if (attention_contradiction(changed).empty()) a = changed;
  };
  change(0.3, [&](Arithmetic& to) { to.dot.unit = any_unit(random); });
  change(0.3, [&](Arithmetic& to) { to.values.unit = any_unit(random); });
  change(0.1, [&](Arithmetic& to) { to.dot.promote = to.dot.unit.k > 0 ? static_cast<int>(random.integer(1, 3)) : 0; });
  change(0.1, [&](Arithmetic& to) {
    to.values.promote = to.values.unit.k > 0 ? static_cast<int>(random.integer(1, 3)) : 0;
  });
  change(0.3, [&](Arithmetic& to) { to.weights.scale = std::ldexp(1, static_cast<int>(random.integer(-60, 60))); });
  change(0.3, [&](Arithmetic& to) {
    to.weights.format = any_of(random, {Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2});
  });
  change(0.2, [&](Arithmetic& to) { to.lazy_log2 = static_cast<int>(random.integer(1, 63)); });
  change(0.2, [&](Arithmetic& to) {
    to.query_scaled = true;
    to.query = any_of(random, {Format::f32, Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2});
  });
}

/// A bias of all keys, so that the rounded product of their frame is κ octaves off: near the most that P's format leaves in
/// the domain. Scores that large say nothing of weights: values are equal, and what is lost shows. Now and then of a split
/// whose first part has all keys.
void far_frames(Random& random, AttentionProblem& p, Arithmetic& a) {
  if (random.chance(0.5) && !a.separated_exponent) {
    a.weights.format = any_of(random, {Format::f16, Format::e4m3fn, Format::e5m2});
    a.weights.summed = false;
  }
  StoredWeights& stored = a.weights;
  const double most = info(stored.format).max_finite, least = min_subnormal(stored.format);
  if (stored.format != Format::f32 && random.chance(0.5))
    stored.scale = std::exp2(std::round(std::log2(most * least) / 2));
  const double above = std::log2(most / stored.scale);
  const double below = std::log2(stored.scale / least) - 1;
  const double octaves = std::min({above, below, 125.0}) * random.uniform(0.7, 1);
  const double frame = std::ldexp(octaves / std::numbers::log2e, 24);  // κ = u|m| nats
  const std::int64_t n = p.k.shape[2];
  p.softcap = 0;
  p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
  for (std::int64_t j = 0; j < n; ++j)
    put(p.bias, j, frame * (1 - 0x1p-22 * static_cast<double>(random.integer(0, 4))));
  for (std::int64_t j = 0; j < p.k.elements(); ++j) put(p.k, j, 0);
  for (std::int64_t j = 0; j < p.v.elements(); ++j) put(p.v, j, 1);
  if (!random.chance(0.5)) return;
  Arithmetic split = a;
  split.split = {.parts = 2, .combine = Reduction::pairwise_fold, .weights = MergeWeights::stable};
  if (attention_contradiction(split).empty()) a = split;
  if (random.chance(0.5)) p.plan = ChunkPlan::uniform(n, n);
}

/// n keys (size, −size) under a query (1, 1): products of 0, in doubt by a few u·size, and a bias of 0 that decides.
void rewrite_keys(AttentionProblem& p, std::int64_t n, double size) {
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 2});
  p.k = Tensor::dense(Format::f32, {1, 1, n, 2});
  p.v = Tensor::dense(Format::f32, {1, 1, n, 1});
  p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
  p.softcap = 0;
  p.window_left = -1;
  p.alibi = p.sink = p.q_descale = p.k_descale = p.v_descale = Tensor();
  p.scale = 1;
  for (const std::int64_t c : {0, 1}) put(p.q, c, 1);
  for (std::int64_t j = 0; j < n; ++j) {
    put(p.k, 2 * j, size);
    put(p.k, 2 * j + 1, -size);
  }
}

/// A sink that, divided by a product of factors that is not exact, is in more doubt than the key of the other part that
/// certainly is the maximum: a key below the sink may be its part's computed maximum, and pays for a frame, the sink not.
void far_sink(Random& random, AttentionProblem& p, Arithmetic& a) {
  Arithmetic split = a;
  split.exponent = random.chance(0.8) ? Exponent::fused : Exponent::unfused;
  split.split = {.parts = 2, .combine = Reduction::pairwise_fold, .weights = MergeWeights::stable};
  if (!attention_contradiction(split).empty()) return;
  a = split;
  const double far =
      (random.chance(0.8) ? -1 : 1) * std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(22, 30)));
  const double kappa = std::fabs(far) * 0x1p-24;
  rewrite_keys(p, 2, 0);
  p.bias = Tensor();
  for (Tensor* factor : {&p.q_descale, &p.k_descale}) {
    *factor = Tensor::dense(Format::f32, {1, 1});
    put(*factor, 0, random.uniform(1, 2));
  }
  const double tau = p.scale * p.q_descale.at({0, 0}) * p.k_descale.at({0, 0});
  p.sink = Tensor::dense(Format::f32, {1});
  put(p.sink, 0, far);
  put(p.k, 0, (far + random.uniform(-5, 1) * kappa) / tau);
  put(p.k, 2, (far + random.uniform(0, 12) * kappa) / tau);
  const double size =
      random.chance(0.5) ? 1 : std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-126, -100)));
  for (const std::int64_t j : {0, 1}) put(p.v, j, size);
  p.plan = ChunkPlan::uniform(2, 1);
}

/// A part for every key: some near one score, so that their joint lse lies ln of their number above all of them and beyond
/// a power of two, the others so far below that joining one may or may not move it.
void many_parts(Random& random, AttentionProblem& p, Arithmetic& a) {
  const std::int64_t n = random.integer(2, 64), together = random.integer(1, n);
  Arithmetic split = a;
  split.split = {.parts = static_cast<int>(n),
                 .combine = any_of(random, {Reduction::pairwise_fold, Reduction::pairwise_tree}),
                 .weights = any_of(random, {MergeWeights::stable, MergeWeights::one_sided, MergeWeights::running})};
  if (!attention_contradiction(split).empty()) return;
  a = split;
  rewrite_keys(p, n, std::ldexp(1, static_cast<int>(random.integer(-3, 23))));
  const double power = random.chance(0.2) ? 0 : std::ldexp(1, static_cast<int>(random.integer(0, 12)));
  const double joint = power + random.uniform(-0.01, 0.1), gap = random.uniform(0, 20);
  const double near = joint - std::log(static_cast<double>(together));
  const double slack = std::ldexp(1, static_cast<int>(random.integer(-24, 0)));
  const bool last = random.chance(0.7);  // the others come last
  for (std::int64_t j = 0; j < n; ++j) {
    const bool other = last ? j >= together : j < n - together;
    put(p.bias, j, (other ? joint - gap : near) + slack * random.uniform(-1, 1));
    put(p.v, j, random.chance(0.3) ? 1 : other ? -1 : 1);
  }
  p.plan = ChunkPlan::uniform(n, 1);
}

/// Of an attention, beyond a problem and a declaration.
void extend(Random& random, ExtremeCase& made) {
  widen(random, made.arithmetic);
  const Exponent exponent = made.arithmetic.exponent;
  if ((exponent == Exponent::fused || exponent == Exponent::unfused) && random.chance(0.25)) {
    far_frames(random, std::get<AttentionProblem>(made.problem), made.arithmetic);
  } else if (random.chance(0.04)) {
    far_sink(random, std::get<AttentionProblem>(made.problem), made.arithmetic);
  } else if (random.chance(0.04)) {
    many_parts(random, std::get<AttentionProblem>(made.problem), made.arithmetic);
  }
}

}  // namespace

ExtremeCase extreme(ProblemKind kind, std::uint64_t seed) {
  constexpr double kEdges = 0.15;  // of the cases
  Random random(seed, kStream + static_cast<std::uint64_t>(kind)),
      edges(seed, kEdgeStream + static_cast<std::uint64_t>(kind));
  ExtremeCase made;
  made.problem = extreme_problem(random, kind);
  made.arithmetic = declaration(random, made.problem);
  made.arithmetic.underflow = random.chance(0.5) ? Underflow::flush : Underflow::gradual;
  if (kind == ProblemKind::attention) extend(random, made);
  if (edges.chance(kEdges)) to_an_edge(edges, made);
  return made;
}

}  // namespace flashproof::attack
