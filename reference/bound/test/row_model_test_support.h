// Test helper: rows of the model with errors of every kind, and a kernel that makes just such errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "reference/bound/row/row_model.h"
#include "reference/bound/row/theorem.h"
#include "reference/problem/random.h"

namespace flashproof::bound {

/// Where an error enters. The order is that of Scenery's fields in draw_scenery().
enum class Error : std::uint8_t {
  score,
  exponent,
  numerator,
  denominator,
  lost,
  lost_numerator,
  common,
  lead,
  numerator_underflow,
  denominator_underflow,
  ending,
  log,
  log_absolute
};

struct Scenery {
  RowModel row;
  std::vector<double> v;
  EndingModel ending;
  double log_error = 0;
  double log_absolute = 0;
  double o = 0;  // exact, for those who aim

  /// In [−1, 1]: all errors push o up (trial 0) or down (1), all are upwards (2) or downwards (3), or at random ends.
  double lean(Random& random, int trial, Error kind, std::size_t j) const {
    if (trial == 2 || trial == 3) return trial == 2 ? 1 : -1;
    if (trial > 3) return random.chance(0.5) ? 1 : -1;
    const double up = trial == 0 ? 1 : -1;
    switch (kind) {
      case Error::score:
      case Error::exponent:
      case Error::lost:
        return v[j] > o ? up : -up;
      case Error::numerator:
      case Error::lost_numerator:
        return v[j] > 0 ? up : -up;
      case Error::denominator:
      case Error::denominator_underflow:
        return o > 0 ? -up : up;
      case Error::ending:
        return o > 0 ? up : -up;
      case Error::lead:
        return 1;
      default:
        return up;
    }
  }
};

struct Got {
  long double o, lse;
};

inline Got truth(const Scenery& scene) {
  const auto& s = scene.row.leaves.score;
  const double m = *std::max_element(s.begin(), s.end());
  long double sum = 0;
  long double weighted = 0;
  for (std::size_t j = 0; j < s.size(); ++j) {
    const long double w = std::exp(static_cast<long double>(s[j]) - m);
    sum += w;
    weighted += w * scene.v[j];
  }
  return {weighted / sum, m + std::log(sum)};
}

/// A kernel with these errors: `lean` says which share of each allowance it takes.
inline Got emulate(const Scenery& scene, const std::function<double(Error, std::size_t)>& lean) {
  const RowModel& row = scene.row;
  const Leaves& leaves = row.leaves;
  const std::size_t n = leaves.size();
  std::vector<long double> score(n);
  for (std::size_t j = 0; j < n; ++j) {
    score[j] = leaves.score[j] + static_cast<long double>(leaves.score_error[j]) * lean(Error::score, j);
  }
  const std::size_t top = static_cast<std::size_t>(std::max_element(score.begin(), score.end()) - score.begin());
  const long double frame = score[top] + row.lead * std::fabs(lean(Error::lead, 0));
  const long double kappa = std::exp(static_cast<long double>(row.common) * lean(Error::common, 0));
  long double l = row.denominator_underflow * lean(Error::denominator_underflow, 0);
  long double numerator = row.numerator_underflow * lean(Error::numerator_underflow, 0);
  for (std::size_t j = 0; j < n; ++j) {
    long double w = std::exp(score[j] - frame) * kappa;
    if (j != top) {  // the maximum's argument is 0; no weight is above its
      const long double most = std::exp(score[top] - frame) * kappa;
      w = w * std::exp(static_cast<long double>(leaves.exponent[j]) * lean(Error::exponent, j)) +
          leaves.lost[j] * lean(Error::lost, j);
      w = std::min(std::max(0.0L, w), most);
    }
    l += w * std::exp(static_cast<long double>(leaves.denominator[j]) * lean(Error::denominator, j));
    numerator += (w * std::exp(static_cast<long double>(leaves.numerator[j]) * lean(Error::numerator, j)) +
                  leaves.lost_numerator[j] * lean(Error::lost_numerator, j)) *
                 scene.v[j];
  }
  const long double o =
      numerator / l * std::exp(static_cast<long double>(scene.ending.log_units) * lean(Error::ending, 0)) +
      scene.ending.underflow * lean(Error::ending, 0);
  const long double log = std::log(l);
  return {o, frame + log + scene.log_error * std::fabs(log) * lean(Error::log, 0) +
                 scene.log_absolute * lean(Error::log_absolute, 0)};
}

/// `focus`: the one error that is large, by its place in Error; −1: each is of any size or absent.
inline Scenery draw_scenery(Random& random, int focus = -1) {
  Scenery scene;
  const auto n = static_cast<std::size_t>(random.integer(1, 12));
  const double spread = std::exp2(random.uniform(-6, 4));
  const bool one_sided = random.chance(0.5);
  int field = 0;
  const auto size = [&](bool large) {
    return focus < 0 ? (random.chance(0.4) ? 0 : std::exp2(-random.uniform(2, 20))) : large ? 0.05 : 1e-7;
  };
  Leaves& leaves = scene.row.leaves;
  for (std::size_t j = 0; j < n; ++j) {
    leaves.key.push_back(static_cast<std::int64_t>(j));
    leaves.score.push_back(spread * random.uniform(-1, 1));
    scene.v.push_back(random.uniform(one_sided ? 0 : -1, 1));
  }
  leaves.resize(n);
  for (auto* array : {&leaves.score_error, &leaves.exponent, &leaves.numerator, &leaves.denominator, &leaves.lost,
                      &leaves.lost_numerator}) {
    const double largest = size(field++ == focus);
    for (double& x : *array) x = largest * random.uniform(0.5, 1);
  }
  scene.row.common = size(field++ == focus);
  scene.row.lead = focus == field ? 2 : size(false);
  const bool lead = focus == field++;
  scene.row.numerator_underflow = size(lead || field == focus);
  ++field;
  scene.row.denominator_underflow = size(field++ == focus) / 4;
  scene.ending = {size(field == focus), size(field == focus)};
  ++field;
  scene.log_error = size(field++ == focus);
  scene.log_absolute = size(field++ == focus);
  scene.row.frame = frame_of(leaves);
  scene.o = static_cast<double>(truth(scene).o);
  return scene;
}

/// Where README.md, section 3, has no formula: `low` is 0, since every weight may be lost, or Ḡ is 1 or more, since the sum of
/// weights may be.
enum class Beyond : std::uint8_t { low, shrink, both };

inline Scenery draw_beyond(Random& random, Beyond beyond) {
  Scenery scene = draw_scenery(random);
  Leaves& leaves = scene.row.leaves;
  // No weight is above e^κ in its own frame, and the sum of all not above n of them.
  const double most = std::exp(scene.row.common) * static_cast<double>(leaves.size());
  if (beyond != Beyond::shrink) {
    for (double& lost : leaves.lost) lost = most * random.uniform(1, 4);
  }
  if (beyond != Beyond::low) scene.row.denominator_underflow = most * random.uniform(1.01, 4);
  return scene;
}

}  // namespace flashproof::bound
