// Where in a tensor a failing case went wrong: one character per block of elements, small enough for a page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error/element.h"
#include "reference/error/verdict.h"

namespace flashproof {

/// Of a block the worst of its elements, in this order: '.' nothing judged (vacuous, out of domain, an allowed class),
/// '0'..'9' error/bound in [d/10, (d+1)/10), 'X' above the bound, 'F' a number where only inf or NaN is right, 'I' inf
/// where it is not right, 'N' likewise NaN, 'U' never written.
inline constexpr std::string_view kHeatOrder = ".0123456789XFINU";
inline constexpr std::int64_t kHeatCells = 64;  // at most, in each direction

struct HeatMap {
  std::string tensor;  // name() of its part; empty: no map
  std::int64_t rows = 0, cols = 0;
  std::int64_t cell_rows = 1, cell_cols = 1;  // elements per cell
  std::vector<std::string> cells;

  bool operator==(const HeatMap&) const = default;
  bool empty() const { return tensor.empty(); }
  /// One line without tabs, and back; "" for none. Throws UsageError for what serialize() cannot have written.
  std::string serialize() const;
  static HeatMap deserialize(std::string_view text);
};

/// Throws UsageError naming what does not fit together.
void validate(const HeatMap& map);

struct JudgedElement {
  Element element;
  Decision decision;
};
/// The character of one element. `poison`: the bits that run() left in storage that was not written.
char heat_of(const JudgedElement& judged, std::uint64_t poison);
/// A tensor of rows x cols elements, row-major; `at` judges the one of that index.
HeatMap heat_map(std::string_view tensor, std::int64_t rows, std::int64_t cols,
                 const std::function<char(std::int64_t index)>& at);

}  // namespace flashproof
