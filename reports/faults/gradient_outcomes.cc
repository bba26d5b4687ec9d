#include "reports/faults/gradient_outcomes.h"

#include <deque>

#include "kernels/broken/fault.h"
#include "kernels/simt/schedule.h"
#include "properties/laws/gradients.h"
#include "reference/problem/error.h"
#include "reports/gradients/plan.h"
#include "reports/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kSeeds = 2;

struct GradientSubject {
  std::string line;
  BackwardProblem problem;
  BackwardTruth truth;
  ForwardErrors forward;
};

/// Every family that serves attention and has a gradient, in every format.
const std::deque<GradientSubject>& subjects() {
  static const std::deque<GradientSubject> list = [] {
    std::deque<GradientSubject> made;
    const GradientPlan plan = make_gradient_plan({}, kSeeds, 0, {Executor::cpu});
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
      try {
        BackwardProblem problem = plan.make(i).problem;
        BackwardTruth truth = backward_truth(problem, problem.forward.q.format);
        ForwardErrors forward = forward_errors(problem);
        made.push_back({backward_line(plan.cases[i].spec), std::move(problem), std::move(truth), std::move(forward)});
      } catch (const UsageError&) {  // a feature without a gradient
      }
    }
    return made;
  }();
  return list;
}

Verdict asked(const GradientLaw& law, const BackwardKernel& kernel, const GradientSubject& s) {
  const GradientTrial trial(kernel, s.problem);
  if (std::string why = trial.refusal(s.problem); !why.empty()) return {VerdictKind::unsupported, Failure::none, why};
  if (law.relate != nullptr) return ask(law, trial);
  try {
    const BackwardBound bound = backward_bound(s.problem, kernel.arithmetic_for(s.problem.forward.q.format), s.forward);
    const Gradients gradients = run(kernel, s.problem);
    const JudgedGradients judged{gradients, s.truth, bound};
    return law.judge({kernel, judged, judge(judged, kernel.contract, 0)});
  } catch (const simt::Fault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  } catch (const KernelFault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  }
}

}  // namespace

std::vector<LawOutcome> gradient_outcomes(const BackwardKernel& kernel) {
  const BackwardKernel& right = *find_backward_kernel(kernel.fault->kernel);
  std::vector<LawOutcome> outcomes;
  for (const GradientLaw& law : gradient_laws()) {
    LawOutcome outcome{.law = std::string(law.name)};
    for (const GradientSubject& s : subjects()) {
      const Verdict verdict = asked(law, kernel, s);
      outcome.executed += verdict.kind == VerdictKind::pass || verdict.failed() ? 1 : 0;
      if (!verdict.failed() || asked(law, right, s).failed()) continue;
      outcome.rejects = true;
      outcome.where = s.line;
      outcome.why = one_line(verdict.detail);
      break;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace flashproof
