#include "reports/views/terminal/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "properties/generators/family.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// The most severe way of failing, in six letters with the + for others.
std::string failure_words(const FailureCounts& failures) {
  constexpr std::string_view kWords[kFailures] = {"",      "bound", "class", "laund", "leak",
                                                  "wrong", "vary",  "unwr",  "error"};
  std::string word;
  int kinds = 0;
  for (std::size_t i = 0; i < kFailures; ++i) {
    if (failures[i] == 0) continue;
    word = kWords[i];
    ++kinds;
  }
  return kinds > 1 ? word + "+" : word;
}

/// A column for each kernel that is new, and the families that this build does not know.
void add_columns(Matrix& matrix, const std::vector<Record>& records) {
  for (const Record& r : records) {
    if (r.kernel->form == Form::broken) continue;
    const auto same = [&](const MatrixColumn& c) { return c.kernel == r.kernel; };
    if (std::none_of(matrix.kernels.begin(), matrix.kernels.end(), same)) {
      matrix.kernels.push_back({r.kernel, name(r.kernel->problem), r.kernel->id, r.kernel->math});
    }
    if (std::find(matrix.families.begin(), matrix.families.end(), r.family) == matrix.families.end()) {
      matrix.families.push_back(r.family);
    }
  }
}

/// What a kernel did on a family, if these records are its.
void add_cell(Cell& cell, const std::vector<Record>& records, const void* kernel, const std::string& family) {
  Record sum;
  bool any = false;
  for (const Record& r : records) {
    if (r.kernel != kernel || r.family != family) continue;
    sum.kernel = r.kernel;
    sum.merge(r);
    any = true;
  }
  if (!any) return;
  cell.present = true;
  cell.kind = sum.verdict();
  cell.ratio = sum.max_ratio();
  cell.failures = sum.failures_by_case;
  for (const Part part : parts(sum.kernel->problem)) {
    cell.budget = worse(cell.budget, sum[part].max_budget);
    cell.ulp = worse(cell.ulp, sum[part].max_resolved_ulp);
  }
  const std::optional<Part> least = sum.power.weakest(2);  // of all outputs
  cell.decided = least ? sum.power.of(*least).share() : 1;
}

/// ".31", "1.0"; "-" where nothing was measured.
std::string budget_text(double budget) {
  if (budget < 0) return "-";
  const std::string text = std::isfinite(budget) && budget < 10 ? fmt::format("{:.2f}", budget) : short_number(budget);
  return text.starts_with("0.") ? text.substr(1) : text;
}

std::string ulp_text(double ulp) { return ulp < 0 ? "-" : short_number(ulp) + "u"; }

}  // namespace

std::string Cell::text() const {
  if (!present) return "";
  const bool measured = ratio >= 0 || ratio != ratio;
  const auto with_ratio = [&](const std::string& word) {
    return measured ? fmt::format("{} {}", word, short_number(ratio)) : word;
  };
  switch (kind) {
    case VerdictKind::pass:
      return fmt::format("pass {} {} {:.0f}%", budget_text(budget), ulp_text(ulp), std::floor(100 * decided));
    case VerdictKind::fail:
      return with_ratio("FAIL " + failure_words(failures));
    case VerdictKind::inconclusive:
      return with_ratio("open");
    case VerdictKind::undecided:
      return fmt::format("undec. {:.0f}%", std::floor(100 * decided));
    case VerdictKind::vacuous:
      return "vacuous";
    case VerdictKind::out_of_domain:
      return "outside";
    case VerdictKind::unsupported:
      return "unsupp.";
  }
  return "";
}

Matrix make_matrix(const std::vector<Record>& records) {
  Matrix matrix;
  for (const Family& family : families()) matrix.families.emplace_back(family.name);
  add_columns(matrix, records);
  for (const std::string& family : matrix.families) {
    auto& row = matrix.cells.emplace_back(matrix.kernels.size());
    for (std::size_t k = 0; k < row.size(); ++k) add_cell(row[k], records, matrix.kernels[k].kernel, family);
  }
  // Families that no kernel here ran on.
  for (std::size_t f = matrix.families.size(); f-- > 0;) {
    if (std::any_of(matrix.cells[f].begin(), matrix.cells[f].end(), [](const Cell& c) { return c.present; })) continue;
    matrix.families.erase(matrix.families.begin() + static_cast<std::ptrdiff_t>(f));
    matrix.cells.erase(matrix.cells.begin() + static_cast<std::ptrdiff_t>(f));
  }
  return matrix;
}

}  // namespace flashproof
