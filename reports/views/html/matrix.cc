// Kernels down, families across: what each kernel did on each class of inputs, formats and executors together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"

namespace flashproof::html {
namespace {

struct Cell {
  KindCounts by_case{};
  FailureCounts failures{};
  double ratio = -1;   // the worst of every format
  double budget = -1;  // the same: ErrorStats::max_budget

  void add(const Record& r) {
    for (std::size_t i = 0; i < by_case.size(); ++i) by_case[i] += r.by_case[i];
    for (std::size_t i = 0; i < failures.size(); ++i) failures[i] += r.failures_by_case[i];
    ratio = worse(ratio, r.max_ratio());
    for (const Part part : parts(r.kernel->problem)) budget = worse(budget, r[part].max_budget);
  }
};

/// What a cell says, and the class that colours it.
struct Face {
  std::string word, style;
};

Face failing(const Cell& cell) {
  constexpr const char* kWords[] = {"bound", "NaN", "laund", "leak", "wrong", "vary", "unwr", "error"};
  constexpr const char* kStyles[] = {"bound", "class", "other", "other", "wrong", "other", "other", "other"};
  Face face{"FAIL", "other"};
  int kinds = 0;
  for (std::size_t i = 1; i < cell.failures.size(); ++i) {
    if (cell.failures[i] == 0) continue;
    face = {kWords[i - 1], kStyles[i - 1]};
    ++kinds;
  }
  if (kinds > 1) face.word += "+";
  // inf: somewhere there is no number to measure, which the word says.
  if (cell.ratio != -1 && std::isfinite(cell.ratio)) face.word += " " + short_number(cell.ratio);
  return face;
}

Face face_of(const Cell& cell) {
  const double ratio = cell.budget;
  switch (combine(cell.by_case, VerdictKind::unsupported)) {
    case VerdictKind::fail:
      return failing(cell);
    case VerdictKind::inconclusive:
      return {"open", "undecided"};
    case VerdictKind::undecided:
      return {"und", "undecided"};
    case VerdictKind::pass: {
      if (ratio < 0 || !std::isfinite(ratio)) return {"pass", "r0"};
      const std::string word = ratio < 9.995 ? fmt::format("{:.2f}", ratio) : short_number(ratio);
      return {word.starts_with("0.") ? word.substr(1) : word,
              fmt::format("r{}", static_cast<int>(std::clamp(ratio * 5, 0.0, 4.0)))};
    }
    case VerdictKind::out_of_domain:
      return {"out", "outside"};
    case VerdictKind::vacuous:
      return {"vac", "outside"};
    default:
      return {"–", "unsupported"};
  }
}

int form_rank(Form form) { return form == Form::hardened ? 0 : form == Form::published ? 1 : 2; }

struct Matrix {
  std::set<std::string> families;
  std::map<std::tuple<int, std::string, std::string>, std::map<std::string, Cell>> rows;  // form, label -> family
};

/// "attention.deferred.hardened" in the hardened part of the table of attention: "deferred".
std::string short_name(std::string_view label, std::string_view problem, std::string_view form) {
  const std::string front = std::string(problem) + ".", back = "." + std::string(form);
  if (label.starts_with(front)) label.remove_prefix(front.size());
  if (const std::size_t at = label.find(back); at != std::string_view::npos && at > 0) {
    return std::string(label.substr(0, at)) + std::string(label.substr(at + back.size()));
  }
  return std::string(label);
}

std::string row(const std::string& name, const std::string& label, const std::map<std::string, Cell>& cells,
                const Matrix& matrix, const std::map<std::pair<std::string, std::string>, std::size_t>& anchors) {
  std::string out = fmt::format("<tr data-kernel=\"{}\"><th scope=\"row\" title=\"{}\">{}</th>", escaped(label),
                                escaped(label), escaped(name));
  for (const std::string& family : matrix.families) {
    const auto found = cells.find(family);
    if (found == cells.end()) {
      out += "<td></td>";
      continue;
    }
    const Face face = face_of(found->second);
    const auto anchor = anchors.find({label, family});
    out += fmt::format("<td class=\"{}\">", face.style);
    out += anchor == anchors.end() ? face.word : fmt::format("<a href=\"#f{}\">{}</a>", anchor->second, face.word);
    out += "</td>";
  }
  return out + "</tr>\n";
}

std::string table(const std::string& problem, const Matrix& matrix,
                  const std::map<std::pair<std::string, std::string>, std::size_t>& anchors) {
  std::string out = fmt::format(
      "<table class=\"matrix\"><caption>{}: kernels down, input families across</caption>\n<thead><tr>"
      "<th scope=\"col\" class=\"corner\">kernel</th>",
      escaped(problem));
  for (const std::string& family : matrix.families) {
    out += fmt::format("<th scope=\"col\"><span>{}</span></th>", escaped(family));
  }
  out += "</tr></thead>\n";
  std::string form;
  for (const auto& [key, cells] : matrix.rows) {
    const auto& [rank, its_form, label] = key;
    if (its_form != form) {
      out += fmt::format(
          "{}<tbody class=\"form{}\"><tr class=\"group\"><th scope=\"rowgroup\" "
          "colspan=\"{}\"><span>{}</span></th></tr>\n",
          form.empty() ? "" : "</tbody>\n", rank, matrix.families.size() + 1, escaped(its_form));
      form = its_form;
    }
    out += row(short_name(label, problem, its_form), label, cells, matrix, anchors);
  }
  return scrolling("matrix of " + problem, out + "</tbody></table>\n");
}

constexpr std::string_view kLegend =
    "<ul class=\"legend\" aria-label=\"What the cells say\">\n"
    "<li><b class=\"r0\">.12</b> <b class=\"r2\">.48</b> <b class=\"r4\">.91</b> pass: the largest share of "
    "the bound that the arithmetic used, of all formats, the rounding of the output aside; stronger nearer to 1</li>\n"
    "<li><b class=\"class\">NaN</b> NaN or inf where a number is right, or the reverse</li>\n"
    "<li><b class=\"bound\">bound</b> further off than the arithmetic explains, and how far in bounds</li>\n"
    "<li><b class=\"wrong\">wrong</b> silently wrong: a finite number where only inf or NaN is excused</li>\n"
    "<li><b class=\"other\">unwr</b> never written; <b class=\"other\">leak</b> hidden data shows; <b "
    "class=\"other\">laund</b> a "
    "number where NaN is right; <b class=\"other\">vary</b>, <b class=\"other\">error</b></li>\n"
    "<li><b class=\"undecided\">open</b> truth and limit not told apart</li>\n"
    "<li><b class=\"undecided\">und</b> too little was decided to call it a pass</li>\n"
    "<li><b class=\"outside\">out</b> every row beyond the declared range; <b class=\"outside\">vac</b> the bound says "
    "nothing</li>\n"
    "<li><b class=\"unsupported\">–</b> refused by name; empty: the family has no such problem; <b>+</b> in other ways "
    "too</li>\n"
    "</ul>\n";

}  // namespace

std::string matrices(const Report& report, const std::vector<FailingFamily>& failing) {
  std::map<std::string, Matrix> by_problem;
  for (const Record& r : report.result.records) {
    Matrix& matrix = by_problem[std::string(name(r.kernel->problem))];
    matrix.families.insert(r.family);
    matrix.rows[{form_rank(r.kernel->form), std::string(name(r.kernel->form)), label(r)}][r.family].add(r);
  }
  std::map<std::pair<std::string, std::string>, std::size_t> anchors;
  for (const FailingFamily& f : failing) anchors.emplace(std::pair(label(*f.worst), f.worst->family), f.anchor);
  std::string out(kLegend);
  for (const auto& [problem, matrix] : by_problem) out += table(problem, matrix, anchors);
  return out;
}

}  // namespace flashproof::html
