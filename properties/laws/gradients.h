// Laws of the gradient: as law.h, over a backward kernel's dq, dk and dv.
#pragma once

#include <span>
#include <string_view>

#include "kernels/backward.h"
#include "reference/error/gradients.h"

namespace flashproof {

struct GradientEvaluation {
  const BackwardKernel& kernel;
  const JudgedGradients& judged;
  const GradientJudgement& judgement;  // judge() of it
};

struct GradientLaw {
  std::string_view name;
  std::string_view summary;
  Verdict (*check)(const GradientEvaluation& evaluation);  // as Law::check
  std::span<const std::string_view> must_reject;           // broken backward kernels, as Law::must_reject
};

/// Every law, in the order of the report.
std::span<const GradientLaw> gradient_laws();

}  // namespace flashproof
