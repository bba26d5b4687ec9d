#include "reports/gradients/result.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/run.h"
#include "reference/error/judge.h"
#include "reference/problem/backward_witness.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/tokens.h"

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

HeatMap tensor_heat(const GradientEvaluation& e, Part part) {
  const Tensor& tensor = e.judged.tensor(part);
  const std::int64_t columns = tensor.shape.back();
  return heat_map(name(part), columns == 0 ? 0 : tensor.elements() / columns, columns, [&](std::int64_t index) {
    const Element element = e.judged.element(part, index);
    return heat_of({element, decide_gradient(element, e.kernel.contract)}, poison_bits(tensor.format));
  });
}

Part part_of(const std::vector<ElementFinding>& elements) {
  for (const Part part : kGradientParts) {
    if (!elements.empty() && elements.front().tensor == name(part)) return part;
  }
  return Part::dq;
}

}  // namespace

GradientResult evaluate(const GradientEvaluation& evaluation, std::uint64_t case_index, std::size_t max_elements) {
  const GradientJudgement& judgement = evaluation.judgement;
  GradientResult result;
  result.case_index = case_index;
  result.executed = true;
  result.asked = Asked::yes;
  result.verdict = judgement.worst;
  for (const GradientLaw& law : judging_gradient_laws()) {
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
  if (result.failed()) result.heat = tensor_heat(evaluation, part_of(result.elements));
  result.dq = judgement.dq;
  result.dk = judgement.dk;
  result.dv = judgement.dv;
  for (const auto* rows : {&evaluation.judged.bound.query_domain, &evaluation.judged.bound.key_domain}) {
    for (const RowDomain& row : *rows) result.domain.add(row.nearest);
  }
  return result;
}

GradientResult gradient_not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure,
                                   const std::string& detail, Asked asked) {
  GradientResult result;
  result.asked = kind == VerdictKind::fail ? Asked::yes : asked;
  result.case_index = case_index;
  result.verdict = {kind, failure, one_line(detail)};
  return result;
}

std::string GradientResult::serialize() const {
  tokens::Writer out;
  out.outcome(*this);
  for (const ErrorStats* stats : {&dq, &dk, &dv}) out.text(stats->serialize());
  return out.line;
}

GradientResult GradientResult::deserialize(const std::string& line) {
  tokens::Reader in{line};
  GradientResult result;
  in.outcome(result);
  for (ErrorStats* stats : {&result.dq, &result.dk, &result.dv}) *stats = ErrorStats::deserialize(in.text());
  in.expect_end();
  return result;
}

void GradientRecord::add(const GradientResult& result) {
  static const std::vector<std::string_view> kLaws = [] {
    std::vector<std::string_view> names;
    for (const GradientLaw& law : judging_gradient_laws()) names.push_back(law.name);
    return names;
  }();
  const auto worst_of_three = [&](double ErrorStats::* field) {
    return worse(worse(result.dq.*field, result.dk.*field), result.dv.*field);
  };
  add_outcome(result, kLaws, worst_of_three(&ErrorStats::max_ratio), worst_of_three(&ErrorStats::max_ulp));
  dq.merge(result.dq);
  dk.merge(result.dk);
  dv.merge(result.dv);
}

void GradientRecord::merge(const GradientRecord& other) {
  merge_base(other);
  dq.merge(other.dq);
  dk.merge(other.dk);
  dv.merge(other.dv);
}

double GradientRecord::max_ratio() const {
  if (dq.elements + dk.elements + dv.elements == 0) return -1;
  return worse(worse(dq.max_ratio, dk.max_ratio), dv.max_ratio);
}

CaseSpec case_of(const GradientRecord& record, std::uint64_t seed) {
  return {ProblemKind::attention, record.family, seed, {{"format", std::string(info(record.format).name)}}};
}

std::string worst_case_line(const GradientRecord& record) {
  if (!record.worst) return "-";
  CaseSpec spec = case_of(record, record.worst->seed);
  spec.family = record.worst->family;
  return one_line(backward_line(spec));
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
