// Cases of extreme() at the edges that its other draws meet once in 10^7: a sum next to where its reciprocal is subnormal, a weight that only
// the frame's rounding or a score's own doubt takes below the least normal number, values far below hidden ones.
#include <algorithm>
#include <cmath>

#include "reference/bound/declare/declaration.h"
#include "reference/bound/row/row_model.h"
#include "reference/model/attack/attack_draws.h"
#include "reference/model/attack/attack_extreme.h"
#include "reference/model/attack/attack_magnitudes.h"

namespace flashproof::attack {

namespace {

/// Of any size that f32 has.
double any_value(Random& random) {
  return sign(random) * std::ldexp(significand(random), static_cast<int>(random.integer(-126, 126)));
}

/// Σ l within some errors of 2^126, or of 2^-126: the reciprocal of it is next to where it leaves the normal numbers.
void near_reciprocal(Random& random, const Arithmetic& a, MergeProblem& p) {
  const std::int64_t n = p.o.shape[0], large = random.integer(0, n - 1);
  const double error = 2 * (a.exp_error + a.reciprocal_error) + 0x1p-20;
  const double log_sum = (random.chance(0.8) ? 126 : -126) * std::log(2) + error * random.uniform(-1, 1);
  p.l = Tensor::dense(Format::f32, {n, 1});
  double highest = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    put(p.lse, c, random.chance(0.3) ? 0 : random.uniform(-1, 1));
    highest = std::max(highest, p.lse.at({c, 0}));
  }
  for (std::int64_t c = 0; c < n; ++c) {
    const double least = c == large ? log_sum + highest - p.lse.at({c, 0}) : log_sum - random.uniform(0, 150);
    put(p.l, c, std::exp(least));
  }
}

/// Frames so large that their rounding is κ nats, and states below them by what a normal weight has, give or take κ.
void far_below(Random& random, MergeProblem& p) {
  const double kappa = random.chance(0.3) ? 0 : std::exp(random.uniform(-3, 4.2));
  const double frame = sign(random) * std::ldexp(kappa, 24);
  for (std::int64_t c = 0; c < p.o.shape[0]; ++c) {
    const double below =
        random.chance(0.3) ? random.uniform(0, 3) : bound::kLogMinNormal + random.uniform(-1.5, 1.5) * (kappa + 2);
    put(p.lse, c, frame - (c == 0 ? 0 : below));
    put(p.o, c, any_value(random));
  }
}

void merge_edges(Random& random, const Arithmetic& a, MergeProblem& p) {
  if (a.merge_weights == MergeWeights::max_sum && random.chance(0.5)) return near_reciprocal(random, a, p);
  if (a.merge_weights == MergeWeights::unshifted) {
    const double edge = random.chance(0.7) ? -bound::kLogMinNormal : 88.72;
    for (std::int64_t c = 0; c < p.o.shape[0]; ++c) put(p.lse, c, edge + random.uniform(-7, 3));
    return;
  }
  far_below(random, p);
}

/// Hidden values far beyond the visible ones, and a sink that leaves these a small share.
void hidden_beside(Random& random, AttentionProblem& p) {
  const std::int64_t n = p.k.shape[2];
  p.window_left = static_cast<std::int32_t>(random.integer(0, std::max<std::int64_t>(n - 2, 0)));
  const int large = static_cast<int>(random.integer(-20, 126));
  for (std::int64_t j = 0; j < p.v.elements(); ++j) {
    const bool hidden = j < (n - 1 - p.window_left) * p.v.shape[3];
    const int below = hidden ? 0 : static_cast<int>(random.integer(0, 149));
    put(p.v, j, sign(random) * std::ldexp(significand(random), large - below));
  }
  if (!p.has_sink()) p.sink = Tensor::dense(Format::f32, {1});
  put(p.sink, 0, random.uniform(-10, 100));
}

/// Parts of a split, or chunks, that are less than a normal weight below a sink, or one another; a key of each in far more doubt than
/// the others. Where frames are lazy, up to their lag further.
void parts_below(Random& random, AttentionProblem& p, Arithmetic& a) {
  const std::int64_t n = p.k.shape[2];
  const bool each = random.chance(0.3);  // a part for each key: what they have together lies above all of them
  Arithmetic changed = a;
  changed.split = {.parts = static_cast<int>(each ? n : random.integer(2, 4)),
                   .combine = any_of(random, {Reduction::flat, Reduction::pairwise_fold, Reduction::pairwise_tree}),
                   .weights = any_of(random, {MergeWeights::max_sum, MergeWeights::stable, MergeWeights::running,
                                              MergeWeights::division_free, MergeWeights::shifted})};
  if (random.chance(0.3)) changed.lazy_log2 = static_cast<int>(random.integer(20, 63));
  if (random.chance(0.5)) {
    changed.query_scaled = true;
    changed.query = any_of(random, {Format::bf16, Format::e4m3fn, Format::e5m2});
  }
  if (attention_contradiction(changed).empty()) a = changed;
  const double lag = a.lazy_log2 * std::log(2.0);
  p.softcap = 0;
  p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
  for (std::int64_t j = 0; j < n; ++j) {
    const double below = bound::kLogMinNormal + random.uniform(-1.2, 1.2) * (lag + 3);
    put(p.bias, j, random.chance(0.4) ? random.uniform(-2, 2) : -below);
    for (std::int64_t c = 0; c < p.v.shape[3]; ++c) put(p.v, j * p.v.shape[3] + c, any_value(random));
  }
  if (random.chance(0.5)) {
    p.sink = Tensor::dense(Format::f32, {1});
    put(p.sink, 0, random.uniform(-2, 2) + (random.chance(0.5) ? bound::kLogMinNormal : 0));
  }
  p.plan = ChunkPlan::uniform(n, each ? 1 : random.integer(1, n));
}

}  // namespace

void to_an_edge(Random& random, ExtremeCase& made) {
  if (auto* merge = std::get_if<MergeProblem>(&made.problem)) return merge_edges(random, made.arithmetic, *merge);
  auto* attention = std::get_if<AttentionProblem>(&made.problem);
  if (attention == nullptr) return;
  random.chance(0.4) ? hidden_beside(random, *attention) : parts_below(random, *attention, made.arithmetic);
}

}  // namespace flashproof::attack
