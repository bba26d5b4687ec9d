#include "fuzz/score/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/score/shape_class.h"
#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"

namespace flashproof {
namespace {

Case case_of(const char* line) { return make_case(parse_case_spec(line)); }
const Kernel& kernel(const char* id) { return *find_kernel(id); }

constexpr const char* kSoftmax = "softmax:normal:1:rows=3,cols=65,chunk=16,layout=dense";
constexpr const char* kMerge = "merge:normal:1:n=5,rows=3,dv=8,form=sum,layout=dense";
constexpr const char* kAttention = "attention:normal:1:b=1,hq=1,hk=1,sq=5,sk=33,d=16,dv=16,chunk=16,layout=dense";

TEST(Score, a_hardened_kernel_passes_and_its_terms_have_ratios_below_one) {
  const Score s = score(kernel("softmax.online_block.hardened"), case_of(kSoftmax), {});
  EXPECT_TRUE(s.ran);
  EXPECT_FALSE(s.failed());
  EXPECT_EQ(s.what, "");
  ASSERT_FALSE(s.terms.empty());
  EXPECT_GT(s.worst(), 0);
  EXPECT_LE(s.worst(), 1);
}

TEST(Score, another_problem_or_format_does_not_run) {
  EXPECT_FALSE(score(kernel("merge.nway.hardened"), case_of(kSoftmax), {}).ran);
}

// The launch function of another kernel: every element is compared with a bound that is not its own.
Kernel with_launch(const char* id, Launch launch) {
  Kernel changed = kernel(id);
  changed.launch = launch;
  return changed;
}

TEST(Score, a_wrong_number_is_a_finding_with_term_ratio_and_element) {
  const Kernel wrong = with_launch(
      "merge.nway.hardened", Launch(+[](const MergeArgs& args, Stream stream) {
        std::get<void (*)(const MergeArgs&, Stream)>(find_kernel("merge.nway.hardened")->launch)(args, stream);
        static_cast<float*>(args.o)[9] += 1e-3F;
      }));
  const Score s = score(wrong, case_of(kMerge), {});
  EXPECT_EQ(s.what, "exceeds_bound");
  EXPECT_GT(s.ratio, 1);
  EXPECT_THAT(s.term, testing::StartsWith("o."));
  EXPECT_THAT(s.verdict.detail, testing::HasSubstr("o[row 1, column 1]"));
}

TEST(Score, what_the_executor_finds_is_a_finding) {
  const Kernel faulty = with_launch("merge.nway.hardened", Launch(+[](const MergeArgs&, Stream) {
                                      throw simt::Fault(simt::FaultKind::deadlock, "kernels/x.cu:1: deadlock");
                                    }));
  const Score s = score(faulty, case_of(kMerge), {});
  EXPECT_TRUE(s.ran);
  EXPECT_EQ(s.what, "error");
  EXPECT_EQ(s.verdict.failure, Failure::error);
}

TEST(Score, nothing_written_is_a_finding) {
  const Kernel idle = with_launch("merge.nway.hardened", Launch(+[](const MergeArgs&, Stream) {}));
  const Score s = score(idle, case_of(kMerge), {});
  EXPECT_TRUE(s.failed());
  EXPECT_THAT(s.what, testing::AnyOf("class_mismatch", "outputs_fully_written:unwritten"));
}

TEST(Score, a_relating_law_is_asked_and_named) {
  const Law refuses = {
      .summary = "",
      .relate = [](Trial&) -> Verdict { return {VerdictKind::fail, Failure::nondeterministic, "because"}; },
      .name = "refuses"};
  ScoreOptions options;
  options.law = &refuses;
  const Score s = score(kernel("merge.nway.hardened"), case_of(kMerge), options);
  EXPECT_EQ(s.what, "refuses:nondeterministic");
  EXPECT_EQ(s.term, "");
  options.law = find_law("merge_commutes");
  EXPECT_FALSE(score(kernel("merge.nway.hardened"), case_of(kMerge), options).failed());
}

TEST(Score, gradients_have_a_ratio_for_each_of_the_three) {
  CaseSpec spec = parse_case_spec(kAttention);
  spec.problem = ProblemKind::backward;
  const Score s = score(kernels_of(ProblemKind::backward).front(), make_case(spec), {});
  ASSERT_TRUE(s.ran);
  std::vector<std::string_view> terms;
  for (const TermRatio& t : s.terms) terms.push_back(t.term);
  EXPECT_THAT(terms, testing::ElementsAre("dq", "dk", "dv"));
}

TEST(Score, two_kernels_agree_within_both_bounds_and_a_third_does_not) {
  const Kernel& a = kernel("merge.nway.hardened");
  const Kernel& b = kernel("merge.pairwise_stable.hardened");
  const Case c = case_of(kMerge);
  EXPECT_FALSE(score_pair(a, b, c, {}).failed());
  EXPECT_GE(score_pair(a, b, c, {}).worst(), 0);
  const Kernel idle = with_launch("merge.nway.hardened", Launch(+[](const MergeArgs&, Stream) {}));
  const Score s = score_pair(idle, b, c, {});
  EXPECT_THAT(s.what, testing::StartsWith("differ:"));
}

TEST(ShapeClass, names_masks_features_and_the_octave) {
  EXPECT_EQ(shape_class(case_of("softmax:normal:1:rows=3,cols=65,layout=dense").problem), "2^7");
  EXPECT_EQ(finding_class(case_of(kSoftmax).problem), "plain");
  const Case causal = case_of("attention:normal:1:b=1,hq=1,hk=1,sq=5,sk=33,d=16,dv=16,causal=1,layout=dense");
  EXPECT_THAT(shape_class(causal.problem), testing::StartsWith("causal "));
  EXPECT_EQ(finding_class(causal.problem), "masked");
}

}  // namespace
}  // namespace flashproof
