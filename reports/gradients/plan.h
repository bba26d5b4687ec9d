// What a sweep over gradients runs: as reports/run/plan.h, for the kernels of kernels/backward.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backward.h"
#include "properties/generators/gradient_case.h"
#include "reports/run/plan.h"

namespace flashproof {

/// A recipe; a witness carries its data, too.
struct PlannedGradient {
  CaseSpec spec;
  Format format = Format::f32;
  std::shared_ptr<const BackwardCase> data;
};

struct GradientStep {
  const BackwardKernel* kernel = nullptr;
  Executor executor = Executor::cpu;
};

struct GradientPlan {
  std::vector<const BackwardKernel*> kernels;                 // as in Plan
  std::vector<std::shared_ptr<const BackwardKernel>> native;  // as in Plan
  std::vector<Executor> executors;
  std::vector<PlannedGradient> cases;
  simt::Schedule schedule;

  std::vector<GradientStep> steps(std::size_t case_index) const;
  /// Throws UsageError if the family refuses the recipe.
  BackwardCase make(std::size_t case_index) const;
};

/// Every family that serves attention. Throws UsageError for a glob that matches nothing.
GradientPlan make_gradient_plan(const Filters& filters, std::uint64_t seeds, std::uint64_t first_seed,
                                std::vector<Executor> executors);

/// Is `text` what load_gradient() takes: a backward line, or a file that says so?
bool names_gradient(const std::string& text);
/// As load_case().
PlannedGradient load_gradient(const std::string& text, std::map<std::string, std::string>* notes = nullptr);

}  // namespace flashproof
