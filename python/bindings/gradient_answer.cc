#include "python/bindings/gradient_answer.h"

#include "properties/laws/judging_gradients.h"
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
    answer.says[kWithin] = require_power(gradients_within_bound(*answer.judgement), answer.power);
    answer.says[kWritten] = gradients_fully_written(first, truth, bound);
    if (twice) answer.says[kRerun] = gradients_have_the_same_bits(first, gradient.run(problem));
  } catch (const KernelFault& fault) {
    answer.at_fault = true;
    answer.says.fill({VerdictKind::fail, Failure::error, fault.what()});
  }
  return answer;
}

}  // namespace flashproof::python
