// One row of attention after its reduction: how o ends, what lse costs, and how the parts of a split are combined
// (README.md, sections 6 and 7).
#pragma once

#include <algorithm>
#include <vector>

#include "reference/bound/attention/attention_paths.h"
#include "reference/bound/attention/split_tree.h"
#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/row/theorem.h"

namespace flashproof::bound {

/// Error of lse beyond that of log l̂: the products that make the frame natural. Nats; without lse's last rounding.
double lse_form_cost(const Arithmetic& arithmetic, const ScoreScale& scale, Nats frame_size, Nats lse_size);

/// E(m − lse) of the ending that does not divide: log units, beyond the errors of lse itself. |m − lse| <= log_size.
double division_free_argument(const Arithmetic& arithmetic, double log_size, double lse_size);

/// Combination of a split's parts. Reused from row to row.
class AttentionSplit {
 public:
  /// `value_factor`: v_descale. Every part's o is multiplied by it; the figures here are those of the o before.
  AttentionSplit(const AttentionProblem& p, const Arithmetic& arithmetic, const ScoreScale& scale, double value_factor);

  /// Adds to the leaves what their parts' endings and the combination cost; afterwards the row is one reduction again.
  void charge(RowModel& row, const AttentionPaths& paths);

  /// The rest of what charge() found.
  const EndingModel& ending() const { return ending_; }
  const ElementBound& lse() const { return lse_; }
  /// Absolute errors of normalised parts: beside a total weight of 1.
  double normalised_underflow() const { return normalised_underflow_; }
  /// Log units of the ending of a part, or of the whole for max_sum.
  double largest_ending() const { return sums_ ? ending_.log_units : *std::ranges::max_element(ending_units_); }
  /// −ln of what the sum of weights of a part is at least: what its accumulator lost is to be divided by that.
  double least_log() const { return least_; }
  const std::vector<Precondition>& preconditions() const { return preconditions_; }
  double per_factor() const { return per_factor_; }

 private:
  struct State {
    int part;
    double max, lse;     // exact, nats
    double denominator;  // log units: largest of its leaves
    double local = 0;    // ξ: |computed lse − ln of the computed sum|
    double doubt = 0;    // Λ: |computed lse − exact lse|
    double least = 0;    // −ln of the least that its largest weight may be, and so its sum
  };
  /// Log units of what a part's sum of weights loses by underflow.
  static double lost_of_sum(const RowModel& row, const State& state);
  void measure(const RowModel& row, const AttentionPaths& paths);
  void add_endings(RowModel& row, const AttentionPaths& paths);
  /// What the joins of the states cost.
  struct Joined {
    SplitTree tree;
    int deepest;  // joins over a state, at least 1
    bool free;    // no join divides
    MergePaths o;
    ElementBound exact_lse;  // of the combination alone
    std::vector<Precondition> preconditions;
    double doubt;           // largest of a state
    double total, highest;  // of the states' lse: the sum of e^(lse − highest), and the largest
    double unit;            // a total of 1 in the units of the leaves
    double slope, lag;      // of the exponents; of the frames
    double more;            // log units that a join costs beyond what merge_paths() charges
    bool may_underflow;     // the factor of a state may
    double steepest;        // exponent of a one-sided join
  };
  /// κ of a part is an error of all its weights, and so of its lse.
  static double own(const State& state, const AttentionPaths& paths);
  Joined join(const RowModel& row, const AttentionPaths& paths);
  void charge_leaves(RowModel& row, const AttentionPaths& paths, const Joined& joined);
  void charge_lse(const AttentionPaths& paths, const Joined& joined);
  void require(const Joined& joined);

  const AttentionProblem& p_;
  const Arithmetic& a_;
  ScoreScale scale_;
  Arithmetic merge_;  // the combination as a merge declares it
  bool sums_;
  bool product_;       // o of a part times v_descale
  double per_factor_;  // 1/|v_descale|: an absolute error behind the product, in units of one before it; 0: no matter
  std::vector<State> states_;
  std::vector<int> state_of_part_;
  std::vector<double> ending_units_;  // per state: of its o, and of its rounding into partial_o
  EndingModel ending_;
  ElementBound lse_;
  double normalised_underflow_ = 0;
  double least_ = 0;  // of all states
  std::vector<Precondition> preconditions_;
};

}  // namespace flashproof::bound
