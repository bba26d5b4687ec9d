// Error statistics of all outputs, by name.
#pragma once

#include <cstddef>
#include <utility>

#include "reference/error/error_stats.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Those that a problem does not have are empty. Of gradients without the bias statistic.
struct PartStats {
  ErrorStats o, lse, dq, dk, dv;

  const ErrorStats& operator[](Part part) const {
    static constexpr ErrorStats PartStats::* kParts[kPartCount] = {&PartStats::o, &PartStats::lse, &PartStats::dq,
                                                                   &PartStats::dk, &PartStats::dv};
    return this->*kParts[static_cast<std::size_t>(part)];
  }
  ErrorStats& operator[](Part part) { return const_cast<ErrorStats&>(std::as_const(*this)[part]); }
  void merge(const PartStats& other) {
    for (std::size_t i = 0; i < kPartCount; ++i) (*this)[static_cast<Part>(i)].merge(other[static_cast<Part>(i)]);
  }
};

}  // namespace flashproof
