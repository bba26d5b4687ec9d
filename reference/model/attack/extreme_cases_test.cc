// The cases of extreme() that were beyond their bound, one of each kind: their draws say more than a row written out would.
#include <gtest/gtest.h>

#include <cstdint>

#include "reference/model/attack/attack_extreme.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

struct Beyond {
  ProblemKind kind;
  std::uint64_t seed;
  double lse;  // the exact one: of the case that is meant, not of another one of this seed
  const char* what;
  bool is_judged = true;  // false: the row is out of its domain, as it should be
};

TEST(AttackCases, what_was_beyond_its_bound_is_within) {
  constexpr auto kMerge = ProblemKind::merge, kAttention = ProblemKind::attention;
  constexpr Beyond kCases[] = {
      {kAttention, 145502616001, 3.003807300218439, "the logarithm of a join has the doubt of both sides"},
      {kMerge, 7100006131998, 87.9107451185866, "a reciprocal is subnormal where the exact one is not"},
      {kMerge, 7100008609295, -12.105607032775879,
       "a flushed or subnormal product beside an unshifted weight that is too small"},
      {kMerge, 7100029875862, -86.86416625976562,
       "e^-lse of an unshifted sum leaves the range by the logarithm's error"},
      {kMerge, 7100031411295, 756633664.6931472, "a weight is subnormal by the rounding of the frame alone"},
      {kMerge, 1005101, -87.338451890063, "a sum that is flushed makes 0/0 of a block that is 0", false},
      {kMerge, 8100000387270, 8.178162949449609e-38, "e/(1 + e) is flushed by the error of the reciprocal"},
      {kAttention, 7000049497865, 45.565162658691406, "o is subnormal in f32 beside far larger values that are hidden"},
      {kAttention, 7000044873010, 4194304, "a key in more doubt than its part takes all that a join loses"},
      {kAttention, 7000093796099, 16382.281435417894, "what a join loses is e^lag of it beside a lazy frame"},
      {kAttention, 7000097645154, 0.6930256541496519, "a fused weight is above 1, and a sum above the number of keys"},
      {kAttention, 8000023072869, 88.08321380615234, "a lazy frame is so far below that its factor is subnormal"},
      {kAttention, 8000024641895, 88.12435913085938,
       "a key of a part whose computed maximum is far below the exact one"},
      {kAttention, 8000048800346, -1.154060501463717,
       "what a join loses is of all states together, not of the largest key"},
  };
  for (const auto& [kind, seed, lse, what, is_judged] : kCases) {
    const auto [problem, arithmetic] = attack::extreme(kind, seed);
    EXPECT_EQ(narrow_truth(problem, Format::f32).lse[0].hi, lse) << what << ": extreme() draws another case now";
    const attack::Violations tally = attack::attack(problem, arithmetic, arithmetic, seed, 7);
    EXPECT_EQ(tally.violations, 0) << what << ": " << tally.first;
    EXPECT_EQ(tally.refused, 0) << what << ": " << tally.refusal;
    EXPECT_EQ(tally.elements + tally.broken_forms > 0, is_judged) << what;
  }
}

}  // namespace
}  // namespace flashproof
