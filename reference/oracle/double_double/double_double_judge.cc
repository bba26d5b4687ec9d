#include "reference/oracle/double_double/double_double_judge.h"

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>

#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"

namespace flashproof::test {
namespace {

namespace mp = boost::multiprecision;
using Fine = mp::number<mp::mpfr_float_backend<300>, mp::et_off>;
constexpr int kFineBits = 990;  // 300 digits are 996 bits or more

void judge(const Ball& ball, const Fine& exact, const Fine& tolerance, double& worst, Findings& findings) {
  ++findings.elements;
  if (mp::isinf(exact)) {  // lse of a row without keys
    if (ball.classes != kNegInf) ++findings.wrong_class;
    return;
  }
  if (ball.classes != kFinite) ++findings.wrong_class;
  if (std::isinf(ball.radius)) {
    ++findings.unbounded;
    return;
  }
  const Fine distance = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(distance <= Fine(ball.radius) + tolerance)) ++findings.violations;
  if (ball.radius > 0) worst = std::max(worst, Fine(distance / Fine(ball.radius)).convert_to<double>());
}

}  // namespace

Findings judge_rows(const Problem& problem, Tier tier, const DdOptions& options) {
  const ReferenceResult<Fine> exact = visit_forward([](const auto& p) { return reference<Fine>(p); }, problem);
  const auto error = reference_error<Fine>(problem, ldexp(Fine(1), -kFineBits), 2.0);
  const auto dd = double_double_tier(problem, options);
  const OutputShape shape = output_shape(problem);
  Findings findings;
  if (!error.meaningful) findings.wrong_class = 1;  // this judge cannot judge
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const RowBalls row = dd->row(r, tier, 0);
    for (std::int64_t c = 0; c < shape.width; ++c) {
      judge(row.o[c], exact.o[r * shape.width + c], error.o, findings.worst_o, findings);
    }
    judge(row.lse, exact.lse[r], error.lse, findings.worst_lse, findings);
  }
  return findings;
}

}  // namespace flashproof::test
