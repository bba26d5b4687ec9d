// One row of the f32 pass over the columns: its weights as entries in the order of the keys, and what its columns share.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/row/theorem.h"
#include "reference/bound/vector/column_pass.h"

namespace flashproof::bound {

/// Reused from row to row.
class RowEntries {
 public:
  /// First and last group of 64 keys that a row sees; first = end where it sees none.
  struct Groups {
    std::int64_t first = 0, end = 0;
  };
  static Groups groups_of(const Leaves& leaves);

  /// `groups`: those of the pass. The sums of `padded` columns are set to 0. False: something is too large for f32, and
  /// nothing of the pass is to be read.
  bool enter(const RowModel& row, const RowWeights& weights, Groups groups, std::int64_t padded);
  /// Lines are close enough above the numerator's weights: then the figure rises by less than 2^-11.
  bool has_lines() const { return lines_; }
  /// With the weights themselves in place of lines.
  void leave_lines();
  PassRow pass();
  RowConstants constants(const EndingModel& ending) const;

 private:
  /// Leaves that are keys, but for a sink among them; whether they are consecutive.
  struct Keys {
    std::size_t first = 0, end = 0;
    bool run = false;
  };
  static Keys keys_of(const Leaves& leaves);
  template <class Value>
  void place(float* to, Value&& value) const;
  double weigh_numerator();
  void draw_lines(double total);
  void show_keys();
  void sum_blocks(const float* from, float* sums) const;

  const RowModel* row_ = nullptr;
  const RowWeights* weights_ = nullptr;
  std::int64_t base_ = 0, groups_ = 0, padded_ = 0;
  std::size_t first_ = 0, end_ = 0, at_ = 0;  // of Keys, and the first one's place
  bool run_ = false;
  bool sees_zero_ = false, lines_ = false, own_numerator_ = false;
  // By leaf: e^R − 1, the numerator's weight and its part that chance cannot lessen.
  std::vector<double> growth_, numerator_, rest_;
  double lost_ = 0, extra_ = 0;
  double coherent_share_ = 0, coherent_extra_ = 0, rest_share_ = 0, rest_extra_ = 0;
  std::vector<float> p_, q_, dense_, all_, slope_, base_of_line_, own_square_, numerator_square_;
  std::vector<std::uint8_t> visible_, full_;
  std::vector<double> sums_;
};

}  // namespace flashproof::bound
