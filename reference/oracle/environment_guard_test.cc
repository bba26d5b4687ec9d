#include "reference/oracle/environment_guard.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test_problems.h"
#include "reference/problem/error.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace flashproof {
namespace {

Problem some_problem() {
  return test::softmax(Format::f32, 1, 3, [] { return 1.0; });
}

TEST(EnvironmentGuard, AcceptsTheDefault) {
  EXPECT_NO_THROW(require_ieee_environment());
  EXPECT_NO_THROW(compute_truth(some_problem()));
}

TEST(EnvironmentGuard, RefusesEveryOtherRoundingMode) {
  const Problem problem = some_problem();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    EXPECT_THROW(compute_truth(problem), InfrastructureError) << mode;
    std::fesetround(FE_TONEAREST);
  }
  EXPECT_NO_THROW(compute_truth(problem));
}

#if defined(__SSE2__)
TEST(EnvironmentGuard, RefusesFlushToZeroAndDenormalsAreZero) {
  const Problem problem = some_problem();
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {0x8000U, 0x0040U, 0x2000U}) {  // FTZ, DAZ, round down in MXCSR alone
    _mm_setcsr(before | flag);
    EXPECT_THROW(compute_truth(problem), InfrastructureError) << flag;
    _mm_setcsr(before);
  }
  EXPECT_NO_THROW(compute_truth(problem));
}
#endif

}  // namespace
}  // namespace flashproof
