#include "reference/oracle/environment_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cfenv>
#include <system_error>
#include <thread>
#include <vector>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/threads.h"
#include "reference/system/error.h"

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

TEST(EnvironmentGuard, EveryEntranceOfTheOracleLooks) {
  const Problem problem = some_problem();
  Oracle oracle(problem);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x0040U);  // DAZ
  EXPECT_THROW(Oracle{problem}, InfrastructureError);
  EXPECT_THROW(oracle.row(0, 1), InfrastructureError);
  EXPECT_THROW(narrow_truth(problem, Format::f32), InfrastructureError);
  EXPECT_THROW(compute_truths(std::span(&problem, 1), Format::f32), InfrastructureError);
  _mm_setcsr(before);
  EXPECT_NE(oracle.row(0, 1), nullptr);
}

TEST(EnvironmentGuard, EveryWorkerLooksBeforeItsFirstTask) {
  // Workers inherit the state of the thread that starts them.
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {0x8000U, 0x0040U, 0x2000U}) {
    for (const int count : {1, 2, 5}) {
      std::atomic<int> ran = 0;
      _mm_setcsr(before | flag);
      EXPECT_THROW(Threads(count).for_each(100000, [&](std::int64_t) { ++ran; }), InfrastructureError);
      _mm_setcsr(before);
      EXPECT_EQ(ran, 0) << flag << ' ' << count;
      Threads(count).for_each(100, [&](std::int64_t) { ++ran; });
      EXPECT_EQ(ran, 100);
    }
  }
}
#endif

TEST(ThreadsForEach, EveryIndexOnceAndTheFirstExceptionComesBack) {
  for (const int count : {-1, 1, 2, 9}) {
    std::vector<std::atomic<int>> seen(1000);
    Threads(count).for_each(1000, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
    for (const auto& times : seen) ASSERT_EQ(times, 1);
    Threads(count).for_each(0, [](std::int64_t) { FAIL() << "there is no task"; });
    std::atomic<int> ran = 0;
    const auto body = [&](std::int64_t i) {
      ++ran;
      if (i == 10) throw UsageError("the tenth");
    };
    EXPECT_THROW(Threads(count).for_each(1 << 30, body), UsageError);
    EXPECT_LT(ran, 1 << 30);  // the others stopped
  }
}

TEST(ThreadsForEach, ATeamDoesOneLoopAfterTheOtherAndOutlivesAnException) {
  for (const int count : {0, 1, 2, 9}) {
    Team team(count);
    for (int loop = 0; loop < 300; ++loop) {
      const int n = loop % 7;
      std::vector<std::atomic<int>> seen(7);
      team.for_each(n, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
      for (int i = 0; i < 7; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i < n ? 1 : 0);
      if (loop % 50 != 0) continue;
      EXPECT_THROW(team.for_each(100,
                                 [](std::int64_t i) {
                                   if (i == 10) throw UsageError("the tenth");
                                 }),
                   UsageError);
    }
  }
}

TEST(ThreadsForEach, WithoutRoomForAnotherThreadThoseThatRunDoTheWork) {
  pthread_attr_t before, greedy;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&greedy), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&greedy, std::size_t{1} << 50), 0);  // no address space has it
  ASSERT_EQ(pthread_setattr_default_np(&greedy), 0);
  std::atomic<int> ran = 0;
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  Threads(8).for_each(100, [&](std::int64_t) { ++ran; });
  EXPECT_EQ(ran, 100);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&greedy);
  pthread_attr_destroy(&before);
}

}  // namespace
}  // namespace flashproof
