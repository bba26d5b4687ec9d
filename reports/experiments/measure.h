// What the experiments share: a run of the model against truth and bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/error/element.h"
#include "reference/model/model.h"
#include "reference/oracle/oracle.h"

namespace flashproof::experiment {

struct Errors {
  std::vector<double> o;      // signed, every element, against truth
  std::vector<double> bound;  // what the declaration allows
  std::vector<double> size;   // Σ p|v|, from the bound

  double largest() const {
    double worst = 0;
    for (const double e : o) worst = std::max(worst, std::fabs(e));
    return worst;
  }
  double rms() const {
    double sum = 0;
    for (const double e : o) sum += e * e;
    return o.empty() ? 0 : std::sqrt(sum / static_cast<double>(o.size()));
  }
  double largest_ratio() const {
    double worst = 0;
    for (std::size_t i = 0; i < o.size(); ++i) worst = std::max(worst, bound[i] > 0 ? std::fabs(o[i]) / bound[i] : 0);
    return worst;
  }
  void take(const Errors& other) {
    o.insert(o.end(), other.o.begin(), other.o.end());
    bound.insert(bound.end(), other.bound.begin(), other.bound.end());
    size.insert(size.end(), other.size.begin(), other.size.end());
  }
};

/// Runs `arithmetic` on the problem: the errors of o before its rounding into the storage format.
inline Errors measure(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings = {}) {
  const Output output = run_model_unrounded(problem, arithmetic, roundings);
  const Truth truth = compute_truth(problem);
  const Bound bound = compute_bound(problem, arithmetic);
  Errors errors;
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    errors.o.push_back(signed_error(decode(output.o.format, output.o.bits(static_cast<std::int64_t>(i))), truth.o[i]));
    errors.bound.push_back(bound.o[i].total());
    errors.size.push_back(bound.o[i].size);
  }
  return errors;
}

/// The middle of the values.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace flashproof::experiment
