// The summary table that text and Markdown share: families down, kernels across, formats and executors together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"
#include "reports/run/sweep.h"

namespace flashproof {

/// Everything a kernel did on a family.
struct Cell {
  bool present = false;
  VerdictKind kind = VerdictKind::pass;
  double ratio = -1;             // worst error/bound
  double budget = -1, ulp = -1;  // ErrorStats::max_budget and max_resolved_ulp, the worst of outputs and formats
  double decided = 0;            // share of the output that was decided least
  FailureCounts failures{};      // by case
  /// "pass 0.43", "FAIL class+ inf", "vacuous", "" where the family does not serve the problem.
  std::string text() const;
};
inline constexpr std::string_view kMatrixLegend =
    "pass .31 2u 97%: of all formats, the largest share of the bound that the arithmetic used, the rounding of the "
    "output aside; the largest error in ulp, of results whose first digit the bound promises; the share of the output "
    "decided least. Behind FAIL: the worst error/bound, inf where there is no number. "
    "FAIL class: NaN, inf or finite where another is right; laund: a number where NaN is right; bound: further off "
    "than "
    "the arithmetic explains; wrong: likewise, where an overflow excuses inf and NaN but not a wrong number; unwr: "
    "never "
    "written; +: and other ways. undec.: nothing failed, but too few elements were decided to call it a pass. outside: "
    "every row lies beyond the range that the kernel declares, and says so by "
    "NaN; "
    "unsupp.: refused by name; a point: the family has no such problem.";
struct MatrixColumn {
  const void* kernel = nullptr;  // a Kernel: tells columns apart
  std::string_view problem, id;
  Math math = Math::det;
};
struct Matrix {
  std::vector<MatrixColumn> kernels;
  std::vector<std::string> families;
  std::vector<std::vector<Cell>> cells;  // [family][kernel]
};
/// Without seeded faults. It keeps views of the kernels' names.
Matrix make_matrix(const std::vector<Record>& records);

}  // namespace flashproof
