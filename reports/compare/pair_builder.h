// Two sweeps over one list of cases, collected into two documents and into pairs.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/problem/error.h"
#include "reports/compare/pair.h"
#include "reports/run/sweep.h"

namespace flashproof::compare::detail {

using Stats = std::vector<std::pair<std::string, const ErrorStats*>>;
inline Stats tensors(const CaseResult& r, ProblemKind problem) {
  Stats stats;
  for (const Part part : parts(problem)) stats.emplace_back(name(part), &r[part]);
  return stats;
}

inline TensorFigures figures_of(const ErrorStats& s) {
  TensorFigures f;
  f.elements = s.elements;
  f.finite_elements = s.finite_elements;
  f.max_ratio = s.max_ratio;
  f.max_ulp = s.max_ulp;
  f.mean_abs = s.mean_abs();
  f.rmse = s.rmse();
  f.bias = s.bias();
  f.bias_limit = s.bias_limit();
  f.biased = s.biased();
  f.bias_elements = s.bias_elements;
  for (std::size_t i = 0; i < s.ulp_octaves.size(); ++i) {
    if (s.ulp_octaves[i] != 0)
      f.octaves.counts[i == 0 ? kExact : static_cast<int>(i) - 1 + kLeastUlpOctave] = s.ulp_octaves[i];
  }
  return f;
}

inline CaseClass class_of(const Verdict& verdict) {
  const auto c = parse_case_class(verdict.failed() ? name(verdict.failure) : name(verdict.kind));
  return c.value_or(CaseClass::error);  // fail(none) does not occur
}

struct WorstOf {
  int severity = -1;
  double ratio = -1;
};

inline int severity(const Verdict& v) { return v.failed() ? 2 : v.kind == VerdictKind::inconclusive ? 1 : 0; }

class Builder {
 public:
  Builder(const PairArguments& a, std::string label) : arguments_(a), label_(std::move(label)) {}

  /// Runs one side's plan and collects it.
  void run(const Plan& plan, const std::string& id, Document& document, bool head) {
    SweepOptions options;
    options.jobs = arguments_.jobs;
    options.keep_results = true;
    if (arguments_.say) arguments_.say(fmt::format("{} on {} cases", id, plan.cases.size()));
    const auto swept = sweep(plan, options);
    if (swept.partial) {
      throw InfrastructureError(fmt::format("{}: {} Nothing is compared", id, partial_text(swept.failure)));
    }
    if (swept.executed() == 0) throw UsageError(id + ": takes none of the cases, so there is nothing to compare");
    std::map<Key, std::vector<ErrorStats>> sums;
    for (const auto& r : swept.results) add(r, plan.cases.at(r.result.case_index), id, document, head, sums);
    for (auto& [key, record] : document.records) finish(record, sums[key]);
    document.name = id;
    document.runs = {RunOf{arguments_.seed, std::string(name(arguments_.tier)), id, "not used", "", "", ""}};
  }

  /// By PairedCase::base_figures; after run().
  std::vector<std::string> metrics() const {
    std::vector<std::string> list = {"worst error/bound"};
    for (const std::string& tensor : names_)
      list.insert(list.end(), {"worst ulp of " + tensor, "mean |error| of " + tensor});
    return list;
  }

  std::vector<PairedCase> cases() {
    std::vector<PairedCase> list;
    for (auto& [key, one] : pairs_) {
      one.classes = class_change(one.base, one.head);
      list.push_back(std::move(one));
    }
    return list;
  }

 private:
  void add(const StepResult& r, const PlannedCase& planned, const std::string& id, Document& document, bool head,
           std::map<Key, std::vector<ErrorStats>>& sums) {
    const Key key{label_, std::string(info(planned.format).name), std::string(name(r.step.executor)),
                  std::string(name(r.step.kernel->math)), planned.spec.family};
    RecordOf& record = document.records[key];
    record.key = key;
    ++record.cases;
    const CaseClass c = class_of(r.result.verdict);
    ++record.classes[static_cast<std::size_t>(c)];
    if (!record.class_seeds) record.class_seeds.emplace();
    (*record.class_seeds)[static_cast<std::size_t>(c)].add(planned.spec.seed);
    const Stats stats = tensors(r.result, r.step.kernel->problem);
    std::vector<ErrorStats>& sum = sums[key];
    sum.resize(stats.size());
    double ratio = -1;
    std::vector<double> figures;
    for (std::size_t i = 0; i < stats.size(); ++i) {
      sum[i].merge(*stats[i].second);
      figures.insert(figures.end(), {stats[i].second->max_ulp, stats[i].second->mean_abs()});
      if (stats[i].second->elements > 0) ratio = worse(ratio, stats[i].second->max_ratio);
    }
    if (ratio == -1) {
      figures.clear();
    } else {
      figures.insert(figures.begin(), ratio);
    }
    names_.clear();
    for (const auto& [tensor, s] : stats) names_.push_back(tensor);
    const std::string case_line = to_string(planned.spec);
    witness(record, r, case_line, id, ratio);
    PairedCase& one = pairs_[{r.result.case_index, key}];
    one.case_line = case_line;
    one.key = key;
    (head ? one.head : one.base) = c;
    (head ? one.head_figures : one.base_figures) = std::move(figures);
  }

  void witness(RecordOf& record, const StepResult& r, const std::string& case_line, const std::string& id,
               double ratio) {
    if (r.result.verdict.kind == VerdictKind::unsupported) return;
    const int now = severity(r.result.verdict);
    WorstOf& worst = worst_[{id, record.key}];
    if (record.witness && !(now > worst.severity || (now == worst.severity && worse_ratio(ratio, worst.ratio)))) return;
    worst = {now, ratio};
    WitnessOf w;
    w.case_line = case_line;
    w.verdict = to_string(Verdict{r.result.verdict.kind, r.result.verdict.failure, {}});
    if (!r.result.elements.empty()) {
      const ElementFinding& e = r.result.elements.front();
      w.tensor = e.tensor;
      w.index = e.index;
      w.computed = e.computed;
      w.exact = e.exact;
      w.error = e.error;
      w.ratio = e.ratio;
    }
    w.replay = fmt::format("./flashproof compare {} {} --case {}", arguments_.base, arguments_.head, case_line);
    if (record.key.executor != "cpu") w.replay += " --exec " + record.key.executor;
    if (record.key.math != "det") w.replay += " --math " + record.key.math;
    record.witness = std::move(w);
  }

  void finish(RecordOf& record, const std::vector<ErrorStats>& sums) const {
    std::string all;
    for (const std::uint64_t n : record.classes) all += fmt::format("{} ", n);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const TensorFigures f = figures_of(sums[i]);
      if (f.elements > 0) record.max_ratio = worse(record.max_ratio, f.max_ratio);
      all += fmt::format("{} {} {} {} {} {} ", f.elements, f.max_ratio, f.max_ulp, f.mean_abs, f.rmse, f.bias);
      for (const auto& [octave, n] : f.octaves.counts) all += fmt::format("{}:{} ", octave, n);
      record.figures[names_[i]] = f;
    }
    record.digest = std::hash<std::string>{}(all);
  }

  const PairArguments& arguments_;
  std::string label_;
  std::vector<std::string> names_;
  std::map<std::pair<std::uint64_t, Key>, PairedCase> pairs_;
  std::map<std::pair<std::string, Key>, WorstOf> worst_;
};

}  // namespace flashproof::compare::detail
