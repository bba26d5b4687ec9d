#include "reports/run/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "reports/views/terminal/text.h"

namespace flashproof {

bool worse_ratio(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b;
}

double exact_value(const Ball& truth) {
  if ((truth.classes & kFinite) != 0) return truth.hi;
  if ((truth.classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  return (truth.classes & kPosInf) != 0 ? std::numeric_limits<double>::infinity()
                                        : -std::numeric_limits<double>::infinity();
}

bool worse_finding(const ElementFinding& a, const ElementFinding& b) {
  if (a.kind != b.kind) return a.kind > b.kind;
  return worse_ratio(a.ratio, b.ratio);
}

namespace {

std::vector<ElementFinding> find_elements(const Evaluation& evaluation) {
  std::vector<ElementFinding> findings;
  for (const Part part : parts_of(evaluation.output)) {
    for (std::int64_t i = 0; i < count(evaluation.truth, part); ++i) {
      const Element element = evaluation.element(part, i);
      const Decision decision = decide(element, evaluation.kernel.contract);
      if (decision.kind < VerdictKind::inconclusive) continue;
      ErrorStats one;  // so that the ratio is the statistics' own
      one.add(element, decision, 0, static_cast<std::uint64_t>(i));
      const ErrorWitness& w = one.witness;
      findings.push_back({std::string(name(part)),
                          static_cast<std::uint64_t>(i),
                          decision.kind,
                          decision.failure,
                          element.computed,
                          exact_value(element.truth),
                          w.error,
                          one.max_ratio,
                          element.bound,
                          {}});
    }
  }
  std::stable_sort(findings.begin(), findings.end(), worse_finding);
  return findings;
}

HeatMap tensor_heat(const Evaluation& evaluation, Part part) {
  const std::int64_t columns = evaluation.truth.width_of(part);
  const std::int64_t rows = columns == 0 ? 0 : count(evaluation.truth, part) / columns;
  const std::uint64_t poison = poison_bits(evaluation.output[part].format);
  return heat_map(name(part), rows, columns, [&](std::int64_t index) {
    const Element element = evaluation.element(part, index);
    return heat_of({element, decide(element, evaluation.kernel.contract)}, poison);
  });
}

/// The part of an element; of none the first.
Part part_of(const std::vector<ElementFinding>& elements, std::span<const Part> parts) {
  const auto found = std::ranges::find_if(
      parts, [&](Part part) { return !elements.empty() && elements.front().tensor == name(part); });
  return found == parts.end() ? parts.front() : *found;
}

}  // namespace

ElementFinding worst_of(const ErrorStats& stats, Part part) {
  const ErrorWitness& w = stats.witness;
  return {std::string(name(part)),
          w.index,
          VerdictKind::pass,
          Failure::none,
          w.computed,
          w.exact,
          w.error,
          w.ratio,
          w.bound,
          {}};
}

CaseResult evaluate(const Evaluation& evaluation, std::uint64_t case_index, std::size_t max_elements) {
  const Judgement& judgement = evaluation.judgement;
  const std::span<const Part> parts = parts_of(evaluation.output);
  CaseResult result;
  result.case_index = case_index;
  result.seed = evaluation.subject.spec.seed;
  result.executed = true;
  result.asked = Asked::yes;
  result.verdict = judgement.worst;
  for (const Law& law : judging_laws()) {
    result.laws.push_back(law.judge(evaluation));
    const Verdict& law_says = result.laws.back();  // a law that passes does not make a vacuous case a pass
    if (law_says.kind >= VerdictKind::inconclusive && outweighs(law_says, result.verdict)) result.verdict = law_says;
  }
  if (evaluation.power != nullptr) {
    result.power = *evaluation.power;
    result.verdict = require_power(std::move(result.verdict), result.power);
  }
  if (result.verdict.kind >= VerdictKind::inconclusive) {
    result.elements = find_elements(evaluation);
    result.failing_elements = result.elements.size();
    if (result.elements.size() > max_elements) result.elements.resize(max_elements);
    for (ElementFinding& e : result.elements) {
      e.text = describe(evaluation.element(part_of({e}, parts), static_cast<std::int64_t>(e.index)));
    }
  }
  // One story: the verdict is explained by the element that the report shows, unless a law has its own explanation.
  if (!result.elements.empty() && result.elements.front().failure == result.verdict.failure) {
    result.verdict.detail = result.elements.front().text;
  }
  if (result.elements.empty()) {
    ElementFinding worst = worst_of(judgement[parts.front()], parts.front());
    for (const Part part : parts.subspan(1)) {
      ElementFinding other = worst_of(judgement[part], part);
      if (worse_ratio(other.ratio, worst.ratio)) worst = std::move(other);
    }
    if (worst.ratio >= 0 || std::isnan(worst.ratio)) result.elements.push_back(std::move(worst));
  }
  if (result.failed()) result.heat = tensor_heat(evaluation, part_of(result.elements, parts));
  for (const Part part : parts) result[part] = judgement[part];
  result.domain.add(evaluation.bound, evaluation.kernel.contract.refuses_beyond_range);
  result.refined = static_cast<std::uint64_t>(evaluation.bound.refined);
  return result;
}

NextTier next_tier_of(CaseTruth& truth, const Kernel& kernel) {
  if (kernel.problem == ProblemKind::backward) return {};
  return [&truth](std::int64_t row, int level) { return truth.oracle().row(row, level); };
}

CaseResult not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure, const std::string& detail,
                      Asked asked) {
  CaseResult result;
  result.asked = kind == VerdictKind::fail ? Asked::yes : asked;
  result.case_index = case_index;
  result.verdict = {kind, failure, one_line(detail)};
  return result;
}

namespace {

constexpr std::array<std::string_view, 4> kTerms = {"weights", "numerator", "denominator", "output"};

std::size_t largest_term(const ElementBound& b) {
  const std::array<double, 4> term = {b.weights, b.numerator, b.denominator, b.output};
  return static_cast<std::size_t>(std::max_element(term.begin(), term.end()) - term.begin());
}

}  // namespace

std::string_view dominating_term(const ElementBound& bound) {
  return bound.total() > 0 ? kTerms[largest_term(bound)] : "-";
}

double dominating_share(const ElementBound& b) {
  const double total = b.total();
  const double largest = std::array<double, 4>{b.weights, b.numerator, b.denominator, b.output}[largest_term(b)];
  if (!(total > 0)) return 0;
  return std::isinf(largest) ? 1 : largest / total;
}

std::string_view place(Math math, Executor executor) {
  if (math == Math::det) return name(executor);
  return executor == Executor::cpu ? kNativeOnCpu : executor == Executor::ptx ? kNativeAsPtx : name(math);
}

std::string_view place(const Kernel& kernel, Executor executor) { return place(kernel.math, executor); }

std::string full_id(const Kernel& kernel) {
  return std::string(kernel.id) + (kernel.math == Math::native ? ".native" : "");
}

std::string verdict_line(std::string_view id, std::string_view place, const std::string& case_line,
                         const Verdict& verdict, const std::vector<ElementFinding>& elements) {
  std::string line =
      fmt::format("{} {} {} {}", to_string(Verdict{verdict.kind, verdict.failure, {}}), id, place, one_line(case_line));
  if (!elements.empty()) {
    const ElementFinding& e = elements.front();
    line += fmt::format("  error/bound {} at {}[{}]", short_number(e.ratio), e.tensor, e.index);
  }
  // The element that explains it has a line of its own (element_lines).
  const bool told = !elements.empty() && elements.front().text == verdict.detail;
  if (!verdict.detail.empty() && !told) line += "  " + one_line(verdict.detail);
  return line;
}

std::string verdict_line(const Kernel& kernel, Executor executor, const CaseSpec& spec, const CaseResult& result) {
  return verdict_line(kernel.id, place(kernel, executor), to_string(spec), result.verdict, result.elements);
}

std::vector<std::string> element_lines(const std::vector<ElementFinding>& elements, std::uint64_t failing) {
  std::vector<std::string> lines;
  for (const ElementFinding& e : elements) {
    const std::string head = fmt::format("    {}  ", to_string(Verdict{e.kind, e.failure, {}}));
    if (e.text.empty()) {
      lines.push_back(head + fmt::format("{}[{}]: computed {}, exact {}, error {}", e.tensor, e.index,
                                         long_number(e.computed), long_number(e.exact), short_number(e.error)));
    } else {
      lines.push_back(head + e.text);
    }
    if (e.ratio >= 0 && std::isfinite(e.ratio) && e.bound.total() > 0) {
      lines.push_back(fmt::format("      error/bound {}, mostly {} ({:.0f} % of the bound)", short_number(e.ratio),
                                  dominating_term(e.bound), 100 * dominating_share(e.bound)));
    }
  }
  if (failing > elements.size()) lines.push_back(fmt::format("    and {} more", failing - elements.size()));
  return lines;
}

std::vector<std::string> element_lines(const CaseResult& result) {
  return element_lines(result.elements, result.failing_elements);
}

}  // namespace flashproof
