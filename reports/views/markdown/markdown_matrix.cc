#include "reports/views/markdown/markdown_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/views/markdown/markdown_parts.h"
#include "reports/views/terminal/matrix.h"

namespace flashproof {

using namespace markdown_parts;

namespace {

/// One table per problem: families down, its kernels across.
Section matrix(const Matrix& m, std::string_view problem) {
  Section section;
  std::vector<std::size_t> columns;
  for (std::size_t k = 0; k < m.kernels.size(); ++k) {
    if (m.kernels[k].problem == problem) columns.push_back(k);
  }
  section.head = fmt::format("### {}\n\n| family |", problem);
  std::string rule = "\n|---|";
  for (const std::size_t k : columns) {
    const MatrixColumn& kernel = m.kernels[k];
    // The last word on a line of its own: published and hardened stand under one name.
    const std::size_t dot = kernel.id.rfind('.'), start = std::min(kernel.id.find('.'), dot);
    const std::string_view algorithm =
        start == dot ? kernel.id.substr(0, dot) : kernel.id.substr(start + 1, dot - start - 1);
    section.head += fmt::format(" {}<br>{}{} |", code(algorithm), cell(kernel.id.substr(dot + 1)),
                                kernel.math == Math::native ? " native" : "");
    rule += "---|";
  }
  section.head += rule + "\n";
  for (std::size_t f = 0; f < m.families.size(); ++f) {
    std::string row = fmt::format("| {} |", code(m.families[f]));
    bool any = false;
    for (const std::size_t k : columns) {
      const Cell& c = m.cells[f][k];
      any = any || c.present;
      row += c.present && c.kind == VerdictKind::fail ? fmt::format(" **{}** |", c.text())
                                                      : fmt::format(" {} |", c.text());
    }
    if (any) section.rows.push_back(row + "\n");
  }
  return section;
}

}  // namespace

std::string markdown_matrix(const Report& report, std::size_t& room, std::size_t most) {
  const Matrix m = make_matrix(report.result.records);
  if (m.kernels.empty()) return "";
  std::string out = fmt::format("## Kernel × family\n\n{}\n\n", kMatrixLegend);
  if (out.size() > most) return "";
  room -= out.size();
  std::size_t left = most - out.size();
  std::vector<Section> tables;
  for (const ProblemKind problem :
       {ProblemKind::softmax, ProblemKind::merge, ProblemKind::backward, ProblemKind::attention}) {
    tables.push_back(matrix(m, name(problem)));
  }
  // The smallest tables whole, the largest takes what is left: attention has most kernels and families.
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::size_t share = left / (tables.size() - i) * (i + 1 < tables.size() ? 3 : 2) / 2;
    const std::string table = tables[i].within(room, std::min(left, share));
    left -= std::min(left, table.size());
    out += table;
  }
  return out;
}

}  // namespace flashproof
