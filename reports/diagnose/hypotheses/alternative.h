// What an output is held against in place of the truth.
#pragma once

#include <cstdint>
#include <memory>

#include "reports/diagnose/hypotheses/hypothesis.h"
#include "reports/diagnose/observation.h"

namespace flashproof {

/// What the output is held against in place of the truth.
class Alternative {
 public:
  virtual ~Alternative() = default;
  /// Prepares a row; false: the hypothesis changes nothing there.
  virtual bool begin(Part part, std::int64_t row) = 0;
  virtual Decision decide(Part part, std::int64_t row, std::int64_t column) = 0;
  /// Of what was decided last.
  Ball ball;
  double reach = 0;   // the bound, with the rounding into the format
  double likely = 0;  // the same of the probable bound: what independent roundings come to; 0: not known
};

/// Other weights of the same terms (Hypothesis::row).
std::unique_ptr<Alternative> other_weights(const Observation& seen, const Hypothesis& hypothesis);
/// Of a hypothesis of any sort. Null: the same problem here, or none that is valid. Both must outlive it.
std::unique_ptr<Alternative> alternative(const Hypothesis& hypothesis, const Observation& seen);

}  // namespace flashproof
