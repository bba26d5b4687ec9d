// The theorems attacked on their own terms: reductions emulated in double with exponentials and logarithms that err by as
// much as declared – up to 1/8 – each call leaning the way that hurts. An error of such a size shows a wrong term at once;
// the 2^-23 of real kernels would hide it behind the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

using Row = std::vector<double>;

/// One call's worth of lean: −1, 1 or between, by the mode of the round.
struct Adversary {
  Random* random;
  int mode;
  double error;

  double lean() {
    switch (mode) {
      case 0:
        return 1;
      case 1:
        return -1;
      case 2:
        return random->chance(0.5) ? 1 : -1;
      default:
        return random->uniform(-1, 1);
    }
  }
  /// e^x for x <= 0: 1 at 0, never above 1, as arithmetic.h demands.
  double exp(double x) { return x == 0 ? 1 : x == -INFINITY ? 0 : std::min(1.0, std::exp(x) * (1 + error * lean())); }
  double log(double x) { return std::log(x) * (1 + error * lean()); }
  /// For the published merge, whose arguments are positive too.
  double exp_any(double x) { return x == 0 ? 1 : std::exp(x) * (1 + error * lean()); }
};

struct Scene {
  Row s, v;  // scores and values, f32 numbers
  int chunk;
  double lse, sum, max;

  double weight(std::size_t j) const { return std::exp(s[j] - max) / sum; }
};

Scene draw(Random& random) {
  Scene scene;
  const auto n = static_cast<std::size_t>(random.integer(1, random.chance(0.7) ? 12 : 60));
  scene.chunk = static_cast<int>(random.chance(0.5) ? 1 : random.integer(1, static_cast<std::int64_t>(n)));
  const double spread = std::ldexp(1, static_cast<int>(random.integer(-10, 4)));
  const std::int64_t shape = random.integer(0, 3);
  const std::int64_t value = random.integer(0, 3);
  for (std::size_t j = 0; j < n; ++j) {
    const double t = static_cast<double>(j) / static_cast<double>(n);
    const double peak =
        j + 1 == n ? 0 : -spread - 3 + 1e-3 * static_cast<double>(j);  // a late maximum, a slow ramp before
    const double s = shape == 0   ? spread * random.uniform(-1, 1)
                     : shape == 1 ? spread * t
                     : shape == 2 ? peak
                                  : -spread * t;
    const double v = value == 0   ? random.uniform(-1, 1)
                     : value == 1 ? random.uniform()
                     : value == 2 ? (j == 0 ? 1 : 0)
                                  : (j % 2 == 0 ? 1 : -1);
    scene.s.push_back(static_cast<float>(s));
    scene.v.push_back(static_cast<float>(v));
  }
  scene.max = *std::max_element(scene.s.begin(), scene.s.end());
  scene.sum = 0;
  for (const double s : scene.s) {
    scene.sum += std::exp(s - scene.max);
  }
  scene.lse = scene.max + std::log(scene.sum);
  return scene;
}

struct Worst {
  double o = 0, lse = 0;

  /// NaN is the worst and stays. 1e-12 is the emulation's own rounding: at most 60 terms, 2^-53 each, many times over.
  static void take(double& worst, double error, double bound) {
    const double ratio = error <= 1e-12 ? 0 : error / bound;
    worst = std::isnan(worst) || ratio <= worst ? worst : ratio;
  }
};

SoftmaxProblem softmax_of(const Scene& scene) {
  SoftmaxProblem p;
  const auto n = static_cast<std::int64_t>(scene.s.size());
  p.x = Tensor::dense(Format::f32, {1, n});
  for (std::int64_t j = 0; j < n; ++j) {
    p.x.set({0, j}, scene.s[static_cast<std::size_t>(j)]);
  }
  p.plan = ChunkPlan::uniform(n, scene.chunk);
  return p;
}

void judge_softmax(const Scene& scene, const Bound& bound, double m, double d, Adversary& adversary, Worst& worst) {
  for (std::size_t j = 0; j < scene.s.size(); ++j) {
    const double y = adversary.exp(scene.s[j] - m) / d;
    Worst::take(worst.o, std::fabs(y - scene.weight(j)), bound.o[j].total());
  }
  Worst::take(worst.lse, std::fabs(m + adversary.log(d) - scene.lse), bound.lse[0].total());
}

void attack_chunked(const Scene& scene, Adversary adversary, Worst& worst) {
  const Arithmetic declared{.reduction = Reduction::chunked_online,
                            .exp_error = adversary.error,
                            .log_error = adversary.error,
                            .lanes = 1,
                            .warps = 1};
  double m = -INFINITY;
  double d = 0;
  for (std::size_t begin = 0; begin < scene.s.size(); begin += static_cast<std::size_t>(scene.chunk)) {
    const std::size_t end = std::min(scene.s.size(), begin + static_cast<std::size_t>(scene.chunk));
    const double m_new = std::max(m, *std::max_element(&scene.s[begin], &scene.s[begin] + (end - begin)));
    d *= adversary.exp(m - m_new);
    for (std::size_t j = begin; j < end; ++j) {
      d += adversary.exp(scene.s[j] - m_new);
    }
    m = m_new;
  }
  judge_softmax(scene, compute_bound(softmax_of(scene), declared), m, d, adversary, worst);
}

void attack_strided(const Scene& scene, Adversary adversary, Random& random, Worst& worst) {
  const auto lanes = std::size_t{1} << random.integer(0, 3);
  const Arithmetic declared{.reduction = Reduction::strided_online,
                            .exp_error = adversary.error,
                            .log_error = adversary.error,
                            .lanes = static_cast<int>(lanes),
                            .ending = Ending::multiply_reciprocal};
  Row m(lanes, -INFINITY);
  Row d(lanes, 0.0);
  for (std::size_t j = 0; j < scene.s.size(); ++j) {
    const std::size_t t = j % lanes;
    const double m_new = std::max(m[t], scene.s[j]);
    d[t] = d[t] * adversary.exp(m[t] - m_new) + adversary.exp(scene.s[j] - m_new);
    m[t] = m_new;
  }
  for (std::size_t offset = lanes / 2; offset > 0; offset /= 2) {
    for (std::size_t t = 0; t < offset; ++t) {
      const double m_new = std::max(m[t], m[t + offset]);
      if (m_new == -INFINITY) {
        continue;
      }
      d[t] = d[t] * adversary.exp(m[t] - m_new) + d[t + offset] * adversary.exp(m[t + offset] - m_new);
      m[t] = m_new;
    }
  }
  judge_softmax(scene, compute_bound(softmax_of(scene), declared), m[0], d[0], adversary, worst);
}

void attack_merge(const Scene& scene, Adversary adversary, MergeWeights weights, MergeForm form, Worst& worst) {
  const std::size_t n = scene.s.size();
  MergeProblem p;
  p.form = form;
  p.o = Tensor::dense(Format::f32, {static_cast<std::int64_t>(n), 1, 1});
  p.lse = Tensor::dense(Format::f32, {static_cast<std::int64_t>(n), 1});
  for (std::size_t c = 0; c < n; ++c) {
    p.o.set({static_cast<std::int64_t>(c), 0, 0}, scene.v[c]);
    p.lse.set({static_cast<std::int64_t>(c), 0}, scene.s[c]);
    p.order.push_back(static_cast<std::int32_t>(c));
  }
  const Arithmetic declared{.reduction = Reduction::pairwise_fold,
                            .exp_error = adversary.error,
                            .log_error = adversary.error,
                            .merge_weights = weights};
  const Bound bound = compute_bound(p, declared);

  double lse = scene.s[0];
  Row weight(n, 0.0);
  weight[0] = 1;
  for (std::size_t k = 1; k < n; ++k) {
    double keep;
    double add;
    double merged;
    if (weights == MergeWeights::one_sided) {
      const double ratio = adversary.exp_any(scene.s[k] - lse);
      keep = 1 / (1 + ratio);
      add = 1 / (1 + adversary.exp_any(lse - scene.s[k]));
      merged = lse + adversary.log(1 + ratio);
    } else {
      const double e = adversary.exp(-std::fabs(lse - scene.s[k]));
      const bool kept_is_larger = lse > scene.s[k];
      keep = (kept_is_larger ? 1 : e) / (1 + e);
      add = (kept_is_larger ? e : 1) / (1 + e);
      merged = std::max(lse, scene.s[k]) + adversary.log(1 + e);
    }
    for (std::size_t c = 0; c < k; ++c) {
      weight[c] *= keep;
    }
    weight[k] = add;
    lse = merged;
  }
  double sum = 0;
  double exact = 0;
  for (std::size_t c = 0; c < n; ++c) {
    sum += weight[c] * scene.v[c];
    exact += scene.weight(c) * scene.v[c];
    if (form == MergeForm::concat) {
      Worst::take(worst.o, std::fabs(weight[c] - scene.weight(c)) * std::fabs(scene.v[c]), bound.o[c].total());
    }
  }
  if (form == MergeForm::sum) {
    Worst::take(worst.o, std::fabs(sum - exact), bound.o[0].total());
  }
  Worst::take(worst.lse, std::fabs(lse - scene.lse), bound.lse[0].total());
}

TEST(Attack, no_theorem_gives_way_to_large_leaning_errors) {
  struct {
    const char* name;
    Worst worst;
    double reached;  // the attack must get this near, else it has gone soft
  } kinds[] = {{"chunked softmax", {}, 0.7},
               {"strided softmax", {}, 0.7},
               {"stable merge, sum", {}, 0.7},
               {"stable merge, concat", {}, 0.7},
               {"one-sided merge, concat", {}, 0.5}};
  for (std::uint64_t round = 0; round < 20000; ++round) {
    Random random(11, round);
    Scene scene = draw(random);
    const Adversary adversary{&random, static_cast<int>(random.integer(0, 3)), std::exp2(-random.uniform(3, 14))};
    attack_chunked(scene, adversary, kinds[0].worst);
    attack_strided(scene, adversary, random, kinds[1].worst);
    attack_merge(scene, adversary, MergeWeights::stable, MergeForm::sum, kinds[2].worst);
    attack_merge(scene, adversary, MergeWeights::stable, MergeForm::concat, kinds[3].worst);
    attack_merge(scene, adversary, MergeWeights::one_sided, MergeForm::concat, kinds[4].worst);
  }
  for (const auto& kind : kinds) {
    RecordProperty(kind.name, std::to_string(kind.worst.o) + " " + std::to_string(kind.worst.lse));
    EXPECT_LE(kind.worst.o, 1) << kind.name;
    EXPECT_LE(kind.worst.lse, 1) << kind.name;
    EXPECT_GE(kind.worst.o, kind.reached) << kind.name << " attack has gone soft";
  }
}

}  // namespace
}  // namespace flashproof
