#include "reports/gradients/result.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "reference/error/judge.h"
#include "reports/text.h"
#include "reports/tokens.h"

namespace flashproof {
namespace {

std::vector<ElementFinding> find_elements(const GradientEvaluation& e) {
  std::vector<ElementFinding> findings;
  for (const Part part : kGradientParts) {
    for (std::int64_t i = 0; i < e.judged.count(part); ++i) {
      const Element element = e.judged.element(part, i);
      const Decision decision = decide_gradient(element, e.kernel.contract);
      if (decision.kind < VerdictKind::inconclusive) continue;
      ErrorStats one;  // so that the ratio is the statistics' own
      one.add(element, decision, 0, static_cast<std::uint64_t>(i));
      findings.push_back({std::string(name(part)), static_cast<std::uint64_t>(i), decision.kind, decision.failure,
                          element.computed, exact_value(element.truth), one.witness.error, one.max_ratio, element.bound,
                          describe(element)});
    }
  }
  std::stable_sort(findings.begin(), findings.end(), worse_finding);
  return findings;
}

auto key(const GradientRecord& r) {
  return std::tuple<std::string_view, Math, Format, Executor, std::string_view>(r.kernel->id, r.kernel->math, r.format,
                                                                                r.executor, r.family);
}

template <std::size_t n>
void add_counts(std::array<std::uint64_t, n>& to, const std::array<std::uint64_t, n>& from) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

GradientResult evaluate(const GradientEvaluation& evaluation, std::uint64_t case_index, std::size_t max_elements) {
  const GradientJudgement& judgement = evaluation.judgement;
  GradientResult result;
  result.case_index = case_index;
  result.executed = true;
  result.verdict = judgement.worst;
  for (const GradientLaw& law : judging_gradient_laws()) {
    result.laws.push_back(law.judge(evaluation));
    const Verdict& law_says = result.laws.back();  // a law that passes does not make a vacuous case a pass
    if (law_says.kind >= VerdictKind::inconclusive && outweighs(law_says, result.verdict)) result.verdict = law_says;
  }
  if (result.verdict.kind >= VerdictKind::inconclusive) {
    result.elements = find_elements(evaluation);
    result.failing_elements = result.elements.size();
    if (result.elements.size() > max_elements) result.elements.resize(max_elements);
  }
  // One story, as for the forward kernels.
  if (!result.elements.empty() && result.elements.front().failure == result.verdict.failure) {
    result.verdict.detail = result.elements.front().text;
  }
  if (result.elements.empty()) {
    ElementFinding worst = worst_of(judgement.dq, Part::dq);
    for (const Part part : {Part::dk, Part::dv}) {
      ElementFinding other = worst_of(judgement.stats(part), part);
      if (worse_ratio(other.ratio, worst.ratio)) worst = std::move(other);
    }
    if (worst.ratio >= 0 || std::isnan(worst.ratio)) result.elements.push_back(std::move(worst));
  }
  result.dq = judgement.dq;
  result.dk = judgement.dk;
  result.dv = judgement.dv;
  for (const auto* rows : {&evaluation.judged.bound.query_domain, &evaluation.judged.bound.key_domain}) {
    for (const RowDomain& row : *rows) result.domain.add(row.nearest);
  }
  return result;
}

GradientResult gradient_not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure,
                                   const std::string& detail) {
  GradientResult result;
  result.case_index = case_index;
  result.verdict = {kind, failure, one_line(detail)};
  return result;
}

std::string GradientResult::serialize() const {
  tokens::Writer out;
  out.number(case_index);
  out.verdict(verdict);
  out.number(executed ? 1 : 0);
  for (const ErrorStats* stats : {&dq, &dk, &dv}) out.text(stats->serialize());
  out.text(domain.serialize());
  out.verdicts(laws);
  out.number(failing_elements);
  out.elements(elements);
  return out.line;
}

GradientResult GradientResult::deserialize(const std::string& line) {
  tokens::Reader in{line};
  GradientResult result;
  result.case_index = in.number();
  result.verdict = in.verdict();
  result.executed = in.number(1) == 1;
  for (ErrorStats* stats : {&result.dq, &result.dk, &result.dv}) *stats = ErrorStats::deserialize(in.text());
  result.domain = DomainStats::deserialize(in.text());
  result.laws = in.verdicts();
  result.failing_elements = in.number();
  result.elements = in.elements();
  in.expect_end();
  return result;
}

void GradientRecord::add(const GradientResult& result) {
  GradientRecord one;
  one.cases = 1;
  one.by_case[static_cast<std::size_t>(result.verdict.kind)] = 1;
  if (result.failed()) one.failures_by_case[static_cast<std::size_t>(result.verdict.failure)] = 1;
  for (const Verdict& law : result.laws) one.laws.emplace_back()[static_cast<std::size_t>(law.kind)] = 1;
  one.dq = result.dq;
  one.dk = result.dk;
  one.dv = result.dv;
  one.domain = result.domain;
  WorstCase worst_case{result.case_index, result.verdict, {}};
  if (!result.elements.empty()) worst_case.element = result.elements.front();
  if (result.verdict.kind != VerdictKind::unsupported) one.worst = std::move(worst_case);
  merge(one);
}

void GradientRecord::merge(const GradientRecord& other) {
  cases += other.cases;
  add_counts(by_case, other.by_case);
  add_counts(failures_by_case, other.failures_by_case);
  if (laws.size() < other.laws.size()) laws.resize(other.laws.size());
  for (std::size_t i = 0; i < other.laws.size(); ++i) add_counts(laws[i], other.laws[i]);
  dq.merge(other.dq);
  dk.merge(other.dk);
  dv.merge(other.dv);
  domain.merge(other.domain);
  if (other.worst && (!worst || worse_case(*other.worst, *worst))) worst = other.worst;
}

double GradientRecord::max_ratio() const {
  if (dq.elements + dk.elements + dv.elements == 0) return -1;
  return worse(worse(dq.max_ratio, dk.max_ratio), dv.max_ratio);
}

Rejection GradientRecord::rejection() const {
  Rejection most{"no law"};
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const std::uint64_t cases = laws[i][static_cast<std::size_t>(VerdictKind::fail)];
    if (cases > most.cases) most = {judging_gradient_laws()[i].name, cases};
  }
  return most;
}

bool gradient_key_less(const GradientRecord& a, const GradientRecord& b) { return key(a) < key(b); }
bool same_gradient_key(const GradientRecord& a, const GradientRecord& b) { return key(a) == key(b); }

std::vector<GradientRecord> per_kernel(const std::vector<GradientRecord>& records) {
  std::vector<GradientRecord> rows;
  for (const GradientRecord& record : records) {
    GradientRecord row;
    row.kernel = record.kernel;
    row.format = record.format;
    row.executor = record.executor;
    auto at = std::lower_bound(rows.begin(), rows.end(), row, gradient_key_less);
    if (at == rows.end() || !same_gradient_key(*at, row)) at = rows.insert(at, row);
    at->merge(record);
  }
  return rows;
}

}  // namespace flashproof
