#include "reports/statistics/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/error/error_stats.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

std::int64_t blocks(std::int64_t length) { return std::max<std::int64_t>(1, (length + kHeatCells - 1) / kHeatCells); }

std::int64_t cells_of(std::int64_t length, std::int64_t block) { return (length + block - 1) / block; }

/// error/bound as the statistics measure it: within [0, 1] for what passed, not for what was left undecided.
char digit(const Element& e) {
  const double error = std::fabs(signed_error(e.computed, e.truth));
  if (error == 0) return '0';
  const double ratio = error / bound_with_rounding(e.format, e.truth, e.bound);
  if (!(ratio <= 1)) return 'X';  // NaN, too
  return static_cast<char>('0' + std::min(static_cast<int>(10 * ratio), 9));
}

}  // namespace

char heat_of(const JudgedElement& judged, std::uint64_t poison) {
  const Element& e = judged.element;
  if (e.bits == poison) return 'U';
  const Class computed = class_of(e.computed);
  if (judged.decision.failed()) {
    if (computed == kNaN) return 'N';
    if (computed != kFinite) return 'I';
    return (e.truth.classes & kFinite) == 0 ? 'F' : 'X';
  }
  const bool judged_by_size =
      judged.decision.kind == VerdictKind::pass || judged.decision.kind == VerdictKind::inconclusive;
  const bool measurable = computed == kFinite && (e.truth.classes & kFinite) != 0 && std::isfinite(e.truth.radius);
  return judged_by_size && measurable ? digit(e) : '.';
}

HeatMap heat_map(std::string_view tensor, std::int64_t rows, std::int64_t cols,
                 const std::function<char(std::int64_t index)>& at) {
  if (rows == 0 || cols == 0) return {};
  HeatMap map{std::string(tensor), rows, cols, blocks(rows), blocks(cols), {}};
  map.cells.assign(static_cast<std::size_t>(cells_of(rows, map.cell_rows)),
                   std::string(static_cast<std::size_t>(cells_of(cols, map.cell_cols)), kHeatOrder.front()));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::string& line = map.cells[static_cast<std::size_t>(row / map.cell_rows)];
    for (std::int64_t col = 0; col < cols; ++col) {
      char& cell = line[static_cast<std::size_t>(col / map.cell_cols)];
      const char now = at(row * cols + col);
      if (kHeatOrder.find(now) > kHeatOrder.find(cell)) cell = now;
    }
  }
  return map;
}

void validate(const HeatMap& map) {
  if (map.empty()) return;
  if (map.rows < 1 || map.cols < 1) throw UsageError("heat: rows and cols must be at least 1");
  if (map.cell_rows != blocks(map.rows) || map.cell_cols != blocks(map.cols)) {
    throw UsageError(fmt::format("heat: {} x {} elements have cells of {} x {}", map.rows, map.cols, blocks(map.rows),
                                 blocks(map.cols)));
  }
  const auto lines = static_cast<std::size_t>(cells_of(map.rows, map.cell_rows));
  const auto width = static_cast<std::size_t>(cells_of(map.cols, map.cell_cols));
  const bool shaped = map.cells.size() == lines && std::ranges::all_of(map.cells, [&](const std::string& line) {
                        return line.size() == width && line.find_first_not_of(kHeatOrder) == std::string::npos;
                      });
  if (!shaped) throw UsageError(fmt::format("heat: cells must be {} lines of {} of \"{}\"", lines, width, kHeatOrder));
}

std::string HeatMap::serialize() const {
  if (empty()) return {};
  std::string text = fmt::format("{} {} {}", tensor, rows, cols);
  for (const std::string& line : cells) text += " " + line;
  return text;
}

HeatMap HeatMap::deserialize(std::string_view text) {
  HeatMap map;
  if (text.empty()) return map;
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  const auto rows = words.size() > 3 ? parse_count(words[1]) : std::nullopt;
  const auto cols = words.size() > 3 ? parse_count(words[2]) : std::nullopt;
  if (!rows || !cols) throw UsageError("heat: must be a tensor, rows, columns and cells");
  map = {words[0], *rows, *cols, blocks(*rows), blocks(*cols), {words.begin() + 3, words.end()}};
  validate(map);
  return map;
}

}  // namespace flashproof
