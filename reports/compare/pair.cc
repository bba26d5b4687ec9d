#include "reports/compare/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "kernels/registry.h"
#include "properties/generators/glob.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/compare/pair_builder.h"
#include "reports/compare/speed/pair_timing.h"
#include "reports/compare/test/dosed_kernel.h"
#include "reports/run/native.h"

namespace flashproof::compare {
namespace {

[[noreturn]] void unknown(const std::string& id) {
  std::vector<std::string_view> names;
  for (const Kernel& k : kernels()) names.push_back(k.id);
  throw UsageError(unknown_name("kernel", id, names));
}

/// One plan, run by each of the two.
PairRun run_both(Plan plan, const Chosen& base, const Chosen& head, const PairArguments& a) {
  if (!a.case_text.empty()) {
    const std::string kind = std::string(info(plan.cases.front().format).name);
    if (!base.kernel->supports(plan.cases.front().format) || !head.kernel->supports(plan.cases.front().format)) {
      throw UsageError(fmt::format("--case {}: {} is a format that not both kernels take", quote(a.case_text), kind));
    }
  }
  std::erase_if(plan.cases,
                [&](const auto& c) { return !base.kernel->supports(c.format) || !head.kernel->supports(c.format); });
  if (plan.cases.empty()) throw UsageError(a.base + " and " + a.head + " have no case in common");
  PairRun run;
  const std::string label = a.base + " -> " + a.head;
  detail::Builder builder(a, label);
  Plan other = plan;
  plan.kernels = {base.kernel};
  other.kernels = {head.kernel};
  choose_math(plan, a.math, a.profile);
  choose_math(other, a.math, a.profile);
  builder.run(plan, a.base, run.base, false);
  builder.run(other, a.head, run.head, true);
  run.base.report.owner = std::make_shared<Chosen>(base);
  run.head.report.owner = std::make_shared<Chosen>(head);
  run.paired.base = a.base;
  run.paired.head = a.head;
  run.paired.cases = builder.cases();
  run.paired.metrics = builder.metrics();
  run.paired.groups = paired_groups(run.paired.cases, run.paired.metrics.size());
  if (a.rounds > 0) run.speed = {time_pair(*plan.kernels.front(), *other.kernels.front(), plan, label, a.rounds)};
  return run;
}

}  // namespace

bool names_kernel(std::string_view text) {
  const std::string id = split_dose(text).first;
  return find_kernel(id) != nullptr;
}

PairRun run_pair(const PairArguments& a) {
  for (const std::string& text : {a.base, a.head}) {
    if (!names_kernel(text)) unknown(split_dose(text).first);
  }
  if (a.rounds > 0 && a.executors != std::vector{Executor::cpu}) {
    throw UsageError(
        "--measure: two kernels are timed on the CPU executor (--exec cpu); on a GPU measure with bench --exec "
        "cuda --benchmark_out=FILE and give the files to --bench");
  }
  const std::string base_id = split_dose(a.base).first, head_id = split_dose(a.head).first;
  const Kernel *base = find_kernel(base_id), *head = find_kernel(head_id);
  Filters filters = a.filters;
  filters.kernels = {base_id};
  if (base->problem != head->problem) {
    throw UsageError(fmt::format("{} is a kernel for {}, {} one for {}; legal: two of one problem", base_id,
                                 name(base->problem), head_id, name(head->problem)));
  }
  Plan plan;
  if (a.case_text.empty()) {
    plan = make_plan(filters, a.tier, a.seed, a.executors);
  } else {
    plan.cases = {load_case(a.case_text)};
    plan.executors = a.executors;
  }
  return run_both(std::move(plan), at_dose(base, a.base), at_dose(head, a.head), a);
}

}  // namespace flashproof::compare
