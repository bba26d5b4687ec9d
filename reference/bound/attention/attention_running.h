// The frames of Reduction::lse_running, and what its running lse costs (README.md, section 4).
#pragma once

#include <vector>

#include "reference/bound/attention/attention_visits.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

/// Reused from row to row.
class RunningLse {
 public:
  /// `slope`: error of an exponent per unit of its argument.
  RunningLse(const Arithmetic& arithmetic, double slope) : a_(arithmetic), slope_(slope) {}

  /// `additions`: those that a key meets in its chunk at most.
  void follow(const Leaves& leaves, const Visits& visits, int additions);

  struct Step {
    double low = 0, high = 0;  // of the frame
    double later = 0;          // log units that the sum meets after this visit: lse rounded, e^{lse − C'}, additions
  };
  /// visit −1: the sink.
  const Step& step(int visit) const { return steps_[static_cast<std::size_t>(visit) + 1]; }
  /// The last frame.
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  const Arithmetic& a_;
  double slope_;
  double low_ = 0, high_ = 0;
  std::vector<Step> steps_;
  std::vector<double> logarithm_;  // of each visit: the error of its lse
};

}  // namespace flashproof::bound
