// The sums that the bounds of many output elements are made of, as arrays: one pass over a vector adds one pair to a row.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace flashproof::bound {

/// Of one output element, before its ending.
struct Column {
  double exact = 0, exact_slop = 0;  // Σ dS k or Σ P dO
  double weights = 0, numerator = 0, denominator = 0;
  double size = 0;     // of all that is added up: Σ |stored x| |y|
  double aligned = 0;  // the same as a matrix unit's exponents see it
  double touch = 0;    // Σ |stored x| + |y| over the terms, for flushed inputs
};

class Columns {
 public:
  Columns(std::int64_t elements, bool aligned, bool touched)
      : exact_(static_cast<std::size_t>(elements)),
        slop_(exact_.size()),
        weights_(exact_.size()),
        numerator_(exact_.size()),
        denominator_(exact_.size()),
        size_(exact_.size()),
        aligned_(aligned ? exact_.size() : 0),
        touch_(touched ? exact_.size() : 0) {}

  /// Adds x_n · y_c to the elements first + c for the fields of x; y_aligned is not read without alignment.
  void add(std::int64_t first, const Column& x, const double* y, const double* y_aligned, std::int64_t width) {
    double* const exact = &exact_[first];
    double* const slop = &slop_[first];
    double* const weights = &weights_[first];
    double* const numerator = &numerator_[first];
    double* const denominator = &denominator_[first];
    double* const size = &size_[first];
    for (std::int64_t c = 0; c < width; ++c) {
      const double magnitude = std::fabs(y[c]);
      exact[c] += x.exact * y[c];
      slop[c] += x.exact_slop * magnitude;
      weights[c] += x.weights * magnitude;
      numerator[c] += x.numerator * magnitude;
      denominator[c] += x.denominator * magnitude;
      size[c] += x.size * magnitude;
    }
    if (!aligned_.empty()) {
      double* const aligned = &aligned_[first];
      for (std::int64_t c = 0; c < width; ++c) aligned[c] += x.aligned * y_aligned[c];
    }
    if (!touch_.empty()) {
      for (std::int64_t c = 0; c < width; ++c) touch_[first + c] += y[c] == 0 ? 0 : x.size + std::fabs(y[c]);
    }
  }

  Column operator[](std::int64_t n) const {
    return {exact_[n],
            slop_[n],
            weights_[n],
            numerator_[n],
            denominator_[n],
            size_[n],
            aligned_.empty() ? 0 : aligned_[n],
            touch_.empty() ? 0 : touch_[n]};
  }

 private:
  std::vector<double> exact_, slop_, weights_, numerator_, denominator_, size_, aligned_, touch_;
};

}  // namespace flashproof::bound
