#include "reports/gradients/plan.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "properties/generators/family.h"

namespace flashproof {
namespace {

bool built_for(const BackwardKernel& kernel, Executor executor) {
  return executor == Executor::cpu ? kernel.math == Math::det : kernel.has_cuda;
}

}  // namespace

std::vector<GradientStep> GradientPlan::steps(std::size_t case_index) const {
  std::vector<GradientStep> result;
  for (const BackwardKernel* kernel : kernels) {
    if (!kernel->supports(cases.at(case_index).format)) continue;
    for (const Executor executor : executors) {
      if (built_for(*kernel, executor)) result.push_back({kernel, executor});
    }
  }
  return result;
}

BackwardCase GradientPlan::make(std::size_t case_index) const {
  const PlannedGradient& planned = cases.at(case_index);
  return planned.data ? *planned.data : make_gradient_case(planned.spec);
}

GradientPlan make_gradient_plan(const Filters& filters, std::uint64_t seeds, std::uint64_t first_seed,
                                std::vector<Executor> executors) {
  require_seeds(first_seed, seeds);
  GradientPlan plan;
  plan.kernels = select_backward_kernels(filters.kernels);
  plan.executors = std::move(executors);
  const auto chosen_families = select_families(filters.families);
  const auto chosen_formats = select_formats(filters.formats);
  for (const Family* family : chosen_families) {
    if (!family->serves(ProblemKind::attention)) continue;
    for (const Format format : chosen_formats) {
      const auto takes = [&](const BackwardKernel* kernel) { return kernel->supports(format); };
      if (std::none_of(plan.kernels.begin(), plan.kernels.end(), takes)) continue;
      PlannedGradient planned{
          {ProblemKind::attention, std::string(family->name), 0, {{"format", std::string(info(format).name)}}},
          format,
          {}};
      for (std::uint64_t i = 0; i < seeds; ++i) {
        planned.spec.seed = first_seed + i;
        plan.cases.push_back(planned);
      }
    }
  }
  return plan;
}

bool names_gradient(const std::string& text) {
  if (is_backward_line(text)) return true;
  std::error_code error;
  return std::filesystem::is_regular_file(text, error) && is_backward_witness(read_witness_bytes(text));
}

PlannedGradient load_gradient(const std::string& text, std::map<std::string, std::string>* notes) {
  BackwardCase content;
  if (is_backward_line(text)) {
    content = make_gradient_case(parse_backward_line(text));
  } else {
    BackwardWitness witness = parse_backward_witness(read_witness_bytes(text), text);
    content = std::move(witness.content);
    if (notes != nullptr) *notes = std::move(witness.notes);
  }
  PlannedGradient planned;
  planned.spec = content.spec;
  planned.format = content.problem.forward.q.format;
  planned.data = std::make_shared<const BackwardCase>(std::move(content));
  return planned;
}

}  // namespace flashproof
