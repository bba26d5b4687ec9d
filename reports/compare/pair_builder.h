// Two sweeps over one list of cases, collected into two documents and into pairs.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/system/error.h"
#include "reports/compare/pair.h"
#include "reports/run/sweep.h"

namespace flashproof::compare::detail {

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
    for (const auto& r : swept.results) add(r, plan.cases.at(r.result.case_index), head);
    Report report;
    report.result.records = swept.records;
    document = document_of(std::move(report), id, label_);
    for (auto& [key, record] : document.records) {
      if (record.witness() == nullptr) continue;
      record.case_line = lines_.at({key, record.witness()->seed});
      record.replay = pair_command(arguments_.base, arguments_.head, record.case_line, key);
    }
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
  void add(const StepResult& r, const PlannedCase& planned, bool head) {
    const Key key{label_, std::string(info(planned.format).name), std::string(name(r.step.executor)),
                  std::string(name(r.step.kernel->math)), planned.spec.family};
    double ratio = -1;
    std::vector<double> figures;
    names_.clear();
    for (const Part part : parts(r.step.kernel->problem)) {
      const ErrorStats& stats = r.result[part];
      names_.emplace_back(name(part));
      figures.insert(figures.end(), {stats.max_ulp, stats.mean_abs()});
      if (stats.elements > 0) ratio = worse(ratio, stats.max_ratio);
    }
    if (ratio == -1) {
      figures.clear();
    } else {
      figures.insert(figures.begin(), ratio);
    }
    const std::string case_line = to_string(planned.spec);
    lines_[{key, planned.spec.seed}] = case_line;
    PairedCase& one = pairs_[{r.result.case_index, key}];
    one.case_line = case_line;
    one.key = key;
    (head ? one.head : one.base) = class_of(r.result.verdict.kind, r.result.verdict.failure);
    (head ? one.head_figures : one.base_figures) = std::move(figures);
  }

  const PairArguments& arguments_;
  std::string label_;
  std::vector<std::string> names_;
  std::map<std::pair<std::uint64_t, Key>, PairedCase> pairs_;
  std::map<std::pair<Key, std::uint64_t>, std::string> lines_;  // by seed; a case of one's own has more than its seed
};

}  // namespace flashproof::compare::detail
