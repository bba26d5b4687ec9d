#include "reports/diagnose/hypotheses/alternative.h"

#include <stdexcept>
#include <utility>

#include "properties/laws/support/judged_bound.h"
#include "reference/error/error_stats.h"
#include "reference/system/error.h"
#include "reports/run/evaluate.h"

namespace flashproof {
namespace {

/// Another problem, or another declaration: its own oracle and its own bound.
class OfProblem : public Alternative {
 public:
  OfProblem(const Observation& seen, Problem problem, const Arithmetic* arithmetic)
      : seen_(seen), case_{seen.subject().spec, std::move(problem)}, kernel_(seen.kernel()), truth_(case_) {
    if (arithmetic != nullptr) kernel_.arithmetic = *arithmetic;
    validate(case_.problem);
    bound_ = judged_bound(kernel_, case_, truth_);
    require_fit(seen.output(), truth_.truth(), bound_);
    next_ = next_tier_of(truth_, kernel_);
  }

  bool begin(Part, std::int64_t) override { return true; }
  Decision decide(Part part, std::int64_t row, std::int64_t column) override {
    Element e = element_at(seen_.output(), truth_.truth(), bound_, part, row, column);
    const Decision decision = settle(e, kernel_.contract, next_).decision;
    ball = e.truth;
    reach = bound_with_rounding(e.format, e.truth, e.bound);
    likely = probable_bound(e.bound) + (reach - e.bound.total());
    return decision;
  }

 private:
  const Observation& seen_;
  Case case_;
  Kernel kernel_;
  CaseTruth truth_;
  Bound bound_;
  NextTier next_;
};

}  // namespace

std::unique_ptr<Alternative> alternative(const Hypothesis& hypothesis, const Observation& seen) {
  try {
    if (hypothesis.row) return other_weights(seen, hypothesis);
    Problem problem = seen.subject().problem;
    if (hypothesis.problem) {
      if (!hypothesis.problem(problem)) return nullptr;
      return std::make_unique<OfProblem>(seen, std::move(problem), nullptr);
    }
    Arithmetic arithmetic = seen.kernel().arithmetic;
    if (!hypothesis.arithmetic(problem, arithmetic)) return nullptr;
    return std::make_unique<OfProblem>(seen, std::move(problem), &arithmetic);
  } catch (const UsageError&) {
  } catch (const std::invalid_argument&) {
  }
  return nullptr;
}

}  // namespace flashproof
