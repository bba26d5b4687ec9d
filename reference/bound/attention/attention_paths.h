// What every key of one row pays on its way through the declared reduction, up to the end of its part: exponents, roundings
// of the sums, the rounding and underflow of P (README.md, sections 3 to 5). The leaves of one visit differ by their
// scores and by their places in the chunk alone, so each cost is a plain loop over arrays, without calls or branches.
#pragma once

#include <vector>

#include "reference/bound/attention/attention_running.h"
#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/attention/attention_visits.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

/// Exponent forms in natural units; scale.unit and scale.c_error are those of the problem.
class Exponents {
 public:
  Exponents(const Arithmetic& arithmetic, const ScoreScale& scale);

  /// fl(f·ĉ) is a rounded product of its own: all weights of one frame share its error.
  bool rounds_frame() const { return rounds_frame_; }
  /// That error, of a frame between low and high: γ.
  Nats frame_error(Nats low, Nats high) const;
  /// Of e^{a − b} by difference first, per unit of |a − b|: frames, and weights of the forms that subtract first.
  double ratio_slope() const { return ratio_slope_; }
  /// The roundings in it. The rest is the error of the constant ĉ, the same for every key: never a key's own.
  double own_slope() const { return own_slope_; }
  /// Of the exponents on the path from a score to the last frame `path` above it. `above`: how far the frame that made
  /// the weight lies above the score at least; `size`: |s| at most.
  struct Weight {
    double slope, once, per_size, constant;
    double error(double path, double above, double size) const {
      const double inside = above < path ? above : path;
      return slope * path - once * (inside > 0 ? inside : 0) + per_size * size + constant;
    }
  };
  /// `frame_error`: γ of the frame that made it.
  Weight weight(Nats frame_error) const;
  /// −ln(1 − ε).
  double exponential() const { return exponential_; }

 private:
  bool rounds_frame_, unfused_;
  double c_error_, ratio_slope_, own_slope_, exponential_;
};

/// Reused from row to row.
class AttentionPaths {
 public:
  AttentionPaths(const AttentionProblem& p, const Arithmetic& arithmetic, const ScoreScale& scale);

  /// row.leaves has keys, scores, score errors and, in `own`, the scores' share of it; row.frame is theirs.
  void charge(RowModel& row, const AttentionHead& head);

  const Visits& visits() const { return visits_; }
  const Exponents& exponents() const { return exponents_; }
  /// κ of a part: the log error that all its weights share.
  double common(int part) const { return common_[part]; }
  /// Largest error of a sum of p·v, relative: for the accumulator's range.
  double accumulated() const { return growth(longest_); }
  /// By how much a weight may exceed 1.
  Octaves overshoot() const { return overshoot_; }
  /// Sets row.numerator_underflow, from the weights that perturbed_weights() made of the row. `normalised`: absolute
  /// errors of parts that are normalised already; `least_log`: −ln of the least sum of weights of a part.
  void add_underflow(RowModel& row, const RowWeights& weights, const AttentionHead& head, double normalised,
                     double least_log) const;

 private:
  struct Frames {
    double low, high;
  };
  /// Leaves of one visit, or the sink.
  struct Run {
    int visit;  // −1: the sink
    int part;
    std::size_t begin, end;
  };
  template <class Do>
  void for_each_run(const RowModel& row, Do&& act) const;
  Frames frame_of_run(const Run& run) const;
  void settle_frames(const RowModel& row);
  void charge_exponents(RowModel& row, const Run& run);
  void charge_exponents(RowModel& row, const Run& run, std::size_t begin, std::size_t end, bool pivot);
  void count_places(const Leaves& leaves);
  void charge_sums(RowModel& row, const Run& run);
  void charge_lanes(RowModel& row, const Run& run);                    // the denominator's
  void charge_products(RowModel& row, const Run& run, double frames);  // the numerator's; not of the sink
  double charge_frames(RowModel& row, const Run& run);
  void charge_quotients(RowModel& row, const Run& run);
  void charge_stored(RowModel& row, const Run& run);
  void add_chance(RowModel& row) const;

  const Arithmetic& a_;
  ScoreScale scale_;
  Exponents exponents_;
  Visits visits_;
  RunningLse lse_;
  Format value_format_;
  // normalized_: recap_ and separated_ too.
  bool stored_narrow_, resident_, normalized_, recap_, separated_, running_, unit_;
  int parts_, tree_, butterfly_, chunks_;
  double unit_step_ = 0, unit_cut_ = 0;
  double reciprocal_ = 0;
  double stored_units_ = 0, stored_underflow_ = 0, stored_normal_ = 0, tf32_units_ = 0;
  double longest_ = 0, sum_bound_ = 0;
  Octaves overshoot_;
  double longest_rounded_ = 0, longest_steps_ = 0, longest_denominator_ = 0;
  double longest_frames_ = 0;  // log units: of the denominator's own rescales
  int keys_ = 0;
  // Of each leaf, as long as the keys stay: roundings of its denominator and numerator and steps of a unit, without those
  // that its visit adds to all of its leaves alike. Per visit the largest of them.
  std::vector<double> lane_count_, rounded_count_, step_count_;
  struct Most {
    double lane = 0, rounded = 0, steps = 0;
  };
  std::vector<Most> most_;
  std::vector<double> depth_;
  std::vector<double> common_;
  std::vector<char> own_frame_;  // per part: every weight pays for its own frame
};

}  // namespace flashproof::bound
