// The teeth check is itself checked: on a law that passes everything, one that fails everything, one that asks what is
// true, one that has nothing to say, of a fault or of the kernel without it, and a fault that no law names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/laws/test/teeth_check.h"

namespace flashproof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kFault[] = {"softmax.broken.tail_dropped"};
constexpr std::string_view kNoFault[] = {"softmax.safe.hardened"};

Verdict passes(Trial&) { return {}; }
Verdict fails(Trial&) { return {VerdictKind::fail, Failure::exceeds_bound, "always"}; }
Verdict says_nothing(Trial&) { return vacuous("nothing to see"); }
bool is_right(const Trial& trial) { return trial.kernel().fault == nullptr; }
Verdict fails_faults(Trial& trial) { return is_right(trial) ? Verdict{} : fails(trial); }
Verdict fails_faults_only_where_vacuous(Trial& trial) { return is_right(trial) ? says_nothing(trial) : fails(trial); }
Verdict fails_faults_out_of_domain(Trial& trial) {
  if (!is_right(trial)) return fails(trial);
  return {VerdictKind::out_of_domain, Failure::none, "beyond"};
}
Verdict asks_the_truth(Trial& trial) {
  trial.truth();
  return {};
}

Complaints doubts_of(const Law& law) {
  const Kernel* right[] = {find_kernel("softmax.safe.hardened")};
  std::map<VerdictKind, int> verdicts;
  return doubts(law, right, verdicts);
}

TEST(TeethMeta, ALawThatAlwaysPassesAcceptsItsFault) {
  const Law law{.summary = "", .must_reject = kFault, .relate = passes, .name = "gullible"};
  EXPECT_THAT(accepted_faults(law), ElementsAre(HasSubstr("gullible accepts softmax.broken.tail_dropped")));
  EXPECT_THAT(doubts_of(law), IsEmpty());
}

TEST(TeethMeta, ALawThatAlwaysFailsRejectsWhatIsRight) {
  const Law law{.summary = "", .must_reject = kFault, .relate = fails, .name = "paranoid"};
  EXPECT_THAT(accepted_faults(law),
              ElementsAre(HasSubstr("paranoid rejects softmax.online_block.hardened, which is right")));
  EXPECT_THAT(doubts_of(law), Contains(HasSubstr("fail(exceeds_bound) always")));
  EXPECT_THAT(doubts_of(law), Contains(HasSubstr("passed nothing")));
}

TEST(TeethMeta, ARejectionCountsWhereTheRightKernelPasses) {
  const Law law{.summary = "", .must_reject = kFault, .relate = fails_faults, .name = "just"};
  EXPECT_THAT(accepted_faults(law), IsEmpty());
  const Law silent{.summary = "", .must_reject = kFault, .relate = fails_faults_only_where_vacuous, .name = "silent"};
  EXPECT_THAT(accepted_faults(silent),
              ElementsAre(HasSubstr("only where softmax.online_block.hardened does not pass")));
}

TEST(TeethMeta, OutOfDomainHoldsOnlyWhereTheContractRefuses) {
  const Law law{.summary = "", .must_reject = kFault, .relate = fails_faults_out_of_domain, .name = "far"};
  EXPECT_THAT(accepted_faults(law), ElementsAre(HasSubstr("does not pass")));
  constexpr std::string_view kRefusing[] = {"softmax.broken.sum_overflow_not_refused"};
  const Law refusing{.summary = "", .must_reject = kRefusing, .relate = fails_faults_out_of_domain, .name = "far"};
  EXPECT_THAT(accepted_faults(refusing), IsEmpty());
}

TEST(TeethMeta, AskFaultCountsNoRejectionThatTheRightKernelShares) {
  const Kernel& kernel = *find_kernel(kFault[0]);
  TeethCase& c = teeth_cases(kernel.problem).front();
  Trial trial(kernel, c.content, &c.truth);
  const auto rejects = [&](Verdict (*relate)(Trial&)) {
    return ask_fault(kernel, {.summary = "", .relate = relate, .name = "any"}, c, trial).rejects();
  };
  EXPECT_TRUE(rejects(fails_faults));
  EXPECT_FALSE(rejects(fails));
  EXPECT_FALSE(rejects(passes));
}

TEST(TeethMeta, ARelatingLawThatAsksWhatIsTrueIsFound) {
  const Law law{.summary = "", .relate = asks_the_truth, .name = "oracular"};
  EXPECT_THAT(doubts_of(law), Contains(HasSubstr("asked what is true")));
}

TEST(TeethMeta, ALawThatSaysNothingIsFound) {
  const Law law{.summary = "", .must_reject = kFault, .relate = says_nothing, .name = "silent"};
  EXPECT_THAT(doubts_of(law), ElementsAre(HasSubstr("passed nothing")));
  EXPECT_THAT(accepted_faults(law), ElementsAre(HasSubstr("silent accepts")));
}

TEST(TeethMeta, AFaultThatNoLawNamesIsFound) {
  const Kernel faults[] = {*find_kernel("softmax.broken.tail_dropped"), *find_kernel("softmax.broken.no_empty_guard")};
  const Law names_one[] = {{.summary = "", .must_reject = kFault, .relate = passes, .name = "one"}};
  EXPECT_THAT(unnamed_faults(names_one, faults), ElementsAre(HasSubstr("softmax.broken.no_empty_guard")));
}

TEST(TeethMeta, ALawThatNamesWhatIsNoFaultIsFound) {
  const Law law{.summary = "", .must_reject = kNoFault, .relate = fails, .name = "mistaken"};
  EXPECT_THAT(accepted_faults(law), ElementsAre(HasSubstr("which is no seeded fault")));
}

}  // namespace
}  // namespace flashproof
