#include "reference/bound/vector/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "reference/bound/row/row_entries.h"
#include "reference/bound/vector/column_pass.h"
#include "reference/bound/vector/kernels.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

/// A few rows against the values: entries in f32, sums, bounds; what f32 does not settle is done in double.
class ColumnPass {
 public:
  ColumnPass(const ValueTable& values, const EndingModel& ending) : values_(values), ending_(ending) {
    unsettled_.resize(static_cast<std::size_t>(values.width_));
  }

  std::int64_t run(std::span<const RowToBound> rows) {
    RowEntries::Groups groups;
    for (const RowToBound& to : rows) {
      const RowEntries::Groups of = RowEntries::groups_of(to.row->leaves);
      if (of.end == 0) continue;
      groups =
          groups.end == 0 ? of : RowEntries::Groups{std::min(groups.first, of.first), std::max(groups.end, of.end)};
    }
    std::array<bool, kPassRows> fits{};
    bool lines = true;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      fits[r] = rows_[r].enter(*rows[r].row, *rows[r].weights, groups, values_.panels_ * kernels::kPanel);
      lines = lines && rows_[r].has_lines();
    }
    std::array<PassRow, kPassRows> pass{};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!lines) rows_[r].leave_lines();
      pass[r] = rows_[r].pass();
    }
    const std::int64_t all_groups = (values_.keys_ + kGroupKeys - 1) / kGroupKeys;
    const std::int64_t block = groups.first * kBlocks * kernels::kPanel;
    kernels::sum_columns(pass.data(), static_cast<std::int64_t>(rows.size()),
                         {.v = values_.v_ + groups.first * kGroupKeys * kernels::kPanel,
                          .lowest = values_.lowest_ + block,
                          .highest = values_.highest_ + block,
                          .group_lowest = values_.group_lowest_ + block / kBlocks,
                          .group_highest = values_.group_highest_ + block / kBlocks,
                          .panels = values_.panels_,
                          .panel_floats = values_.panel_floats_,
                          .block_floats = all_groups * kBlocks * kernels::kPanel,
                          .groups = groups.end - groups.first});
    std::int64_t refined = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      refined += finish(rows[r], pass[r], fits[r] ? &rows_[r] : nullptr);
    }
    return refined;
  }

 private:
  /// `entries`: none if they did not fit.
  std::int64_t finish(const RowToBound& to, const PassRow& pass, const RowEntries* entries) {
    const std::int64_t width = values_.width_;
    if (entries != nullptr) {
      const bool special = sees_special(*to.row);
      for (std::int64_t c = 0; c < width; ++c) {
        unsettled_[c] = values_.inexact_[c] | (special ? values_.special_[c] : 0);
      }
      kernels::finish_columns(pass, entries->constants(ending_), values_.unscale_.data(), width, to.bounds, to.ranges,
                              unsettled_.data());
    } else {
      std::ranges::fill(unsettled_, std::uint8_t{1});
    }
    std::int64_t refined = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      if (unsettled_[c] != 0) refined += in_double(to, c) ? 1 : 0;
    }
    return refined;
  }

  bool sees_special(const RowModel& row) const {
    if (values_.special_keys_.empty()) return false;
    return std::ranges::any_of(
        row.leaves.key, [&](std::int64_t key) { return std::ranges::binary_search(values_.special_keys_, key); });
  }

  bool in_double(const RowToBound& to, std::int64_t c) {
    const auto& key = to.row->leaves.key;
    column_.resize(key.size());
    bool finite = true;
    for (std::size_t j = 0; j < key.size(); ++j) {
      column_[j] = key[j] < 0 ? 0 : values_.values_[key[j] * values_.width_ + c];
      finite = finite && std::isfinite(column_[j]);
    }
    to.bounds[c] = {};
    to.ranges[c] = kInfinity;
    bool refined = false;
    if (finite) to.bounds[c] = column_bound(*to.row, *to.weights, column_, ending_, to.ranges[c], &refined);
    return refined;
  }

  const ValueTable& values_;
  const EndingModel& ending_;
  std::array<RowEntries, kPassRows> rows_;
  std::vector<std::uint8_t> unsettled_;
  std::vector<double> column_;
};

std::int64_t column_bounds(std::span<const RowToBound> rows, const ValueTable& values, const EndingModel& ending) {
  std::int64_t refined = 0;
  if (!kernels::supported()) {
    for (const RowToBound& to : rows) {
      refined += column_bounds(*to.row, *to.weights, values.values(), values.width(), ending, to.bounds, to.ranges);
    }
    return refined;
  }
  ColumnPass pass(values, ending);
  for (std::size_t r = 0; r < rows.size(); r += kPassRows) {
    refined += pass.run(rows.subspan(r, std::min<std::size_t>(kPassRows, rows.size() - r)));
  }
  return refined;
}

}  // namespace flashproof::bound
