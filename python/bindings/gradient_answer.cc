#include "python/bindings/gradient_answer.h"

#include "properties/laws/gradient_reading.h"
#include "properties/laws/law.h"
#include "reference/oracle/backward/backward_truth.h"

namespace flashproof::python {

GradientAnswer answer_to(CallableGradient& gradient, const BackwardProblem& problem, std::uint64_t seed, bool twice) {
  GradientAnswer answer;
  try {
    const Output first = gradient.run(problem);
    const Truth truth = backward_truth(problem, gradient.declaration().format);
    const Bound bound = gradient_bound(problem, gradient.arithmetic());
    answer.judgement = judge(first, truth, bound, gradient.contract(), seed);
    answer.power = power_of(first, truth, bound, *answer.judgement, gradient.contract(), trivial_gaps(problem, truth));
    Kernel kernel{};
    kernel.problem = ProblemKind::backward;
    kernel.contract = gradient.contract();
    const Case subject{{}, problem};
    for (const GradientLawAsked law : kJudging) {
      answer.says[law] =
          find_law(kGradientLaws[law])->judge({kernel, subject, first, truth, bound, *answer.judgement, &answer.power});
    }
    if (!twice) return answer;
    const std::string why = first_gradient_difference(gradient.run(problem), first);
    if (!why.empty()) {
      answer.says[kRerun] = {VerdictKind::fail, Failure::nondeterministic, why + ", a second run against the first"};
    }
  } catch (const KernelFault& fault) {
    answer.at_fault = true;
    answer.says.fill({VerdictKind::fail, Failure::error, fault.what()});
  }
  return answer;
}

}  // namespace flashproof::python
