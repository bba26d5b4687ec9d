#include "reports/compare/pair.h"

#include "kernels/broken/fault.h"
#include "reports/compare/outcome.h"
#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

PairArguments pair(const std::string& base, const std::string& head, std::vector<std::string> families = {"normal"}) {
  PairArguments a;
  a.base = base;
  a.head = head;
  a.filters.families = std::move(families);
  a.filters.formats = {"f16"};
  a.tier = SweepTier::quick;
  return a;
}

const SignTest& test_of(const PairRun& run, const std::string& metric) {
  const auto at = std::ranges::find(run.paired.metrics, metric);
  return run.paired.groups.at(0).tests.at(static_cast<std::size_t>(at - run.paired.metrics.begin()));
}

TEST(sign_test, is_exact_and_corrected) {
  EXPECT_DOUBLE_EQ(sign_test(10, 0, 5, 1).p, 2.0 / 1024);
  EXPECT_DOUBLE_EQ(sign_test(0, 10, 5, 3).p, 6.0 / 1024);
  EXPECT_DOUBLE_EQ(sign_test(9, 1, 0, 1).p, 2.0 * 11 / 1024);
  EXPECT_EQ(sign_test(5, 5, 0, 1).p, 1);
  EXPECT_EQ(sign_test(0, 0, 9, 7).p, 1);
}

TEST(pair, a_kernel_and_itself_do_not_differ) {
  const PairRun run = run_pair(pair("attention.mma_f16.hardened", "attention.mma_f16.hardened"));
  EXPECT_EQ(compare(run.base, run.head, false).changed(), 0U);
  EXPECT_EQ(run.paired.cases.size(), 3U);
  for (const SignTest& t : run.paired.groups.at(0).tests) EXPECT_EQ(t.equal, 3U);
  EXPECT_TRUE(run.paired.class_changes().empty());
}

// The seeded fault is exp2 with an error of at most `dose` ulp (kernels/broken/short_polynomial.diff). At 1 ulp some lse
// differ; at half an ulp the product rounds to exp2 itself, and nothing may be reported.
TEST(pair, one_ulp_in_exp2_is_reported_and_half_an_ulp_rounds_away) {
  if (seeded_faults().empty()) GTEST_SKIP() << "a build without seeded faults";
  const PairRun run = run_pair(pair("attention.mma_f16.hardened", "attention.broken.short_polynomial@1"));
  const Comparison c = compare(run.base, run.head, false);
  EXPECT_EQ(c.changed(), c.records.size());
  EXPECT_TRUE(c.by_class().empty());
  const SignTest& lse = test_of(run, "mean |error| of lse");
  EXPECT_GE(lse.worse + lse.better, 1U);
  ASSERT_FALSE(c.by_error().empty());
  EXPECT_EQ(c.by_error()[0]->head->replay.find("./flashproof compare attention.mma_f16.hardened "
                                               "attention.broken.short_polynomial@1 --case attention:normal:"),
            0U);
  const PairRun half = run_pair(pair("attention.mma_f16.hardened", "attention.broken.short_polynomial@0.5"));
  EXPECT_EQ(compare(half.base, half.head, false).changed(), 0U);
}

TEST(pair, the_dose_orders_how_much_is_wrong) {
  if (seeded_faults().empty()) GTEST_SKIP() << "a build without seeded faults";
  double before = 0;
  for (const char* dose : {"@3", "@300", "@30000"}) {
    const PairRun run =
        run_pair(pair("attention.mma_f16.hardened", std::string("attention.broken.short_polynomial") + dose));
    const double mean = run.head.records.begin()->second.figures.at("lse").mean_abs;
    EXPECT_GT(mean, before) << dose;
    before = mean;
  }
}

TEST(pair, a_class_change_names_the_case_and_its_line) {
  PairArguments a = pair("softmax.online_block.hardened", "softmax.naive.published", {"sum_overflow", "normal"});
  a.filters.formats = {"f32"};
  const PairRun run = run_pair(a);
  const auto changes = run.paired.class_changes();
  ASSERT_FALSE(changes.empty());
  EXPECT_TRUE(changes[0]->classes.worse);
  EXPECT_EQ(changes[0]->key.family, "sum_overflow");
  const std::string line = run.paired.replay(*changes[0]);
  EXPECT_EQ(line, "./flashproof compare softmax.online_block.hardened softmax.naive.published --case " +
                      changes[0]->case_line);
  // That line shows the same change again.
  PairArguments again = a;
  again.filters = {};
  again.case_text = changes[0]->case_line;
  const PairRun one = run_pair(again);
  ASSERT_EQ(one.paired.cases.size(), 1U);
  EXPECT_EQ(one.paired.cases[0].head, changes[0]->head);
  EXPECT_EQ(one.paired.cases[0].head_figures, changes[0]->head_figures);
}

TEST(pair, gradients_are_compared_alike) {
  PairArguments a = pair("attention_backward.deterministic.hardened", "attention_backward.broken.delta_not_subtracted");
  if (!names_kernel(a.head)) GTEST_SKIP() << "a build without seeded faults";
  a.base = std::string(find_fault(a.head)->kernel);
  const PairRun run = run_pair(a);
  EXPECT_EQ(run.paired.metrics[1], "worst ulp of dq");
  EXPECT_FALSE(run.paired.class_changes().empty());
}

TEST(pair, rounds_of_timing_are_pairs) {
  PairArguments a = pair("softmax.online_block.hardened", "softmax.online_block.hardened");
  a.rounds = 3;
  const PairRun run = run_pair(a);
  ASSERT_EQ(run.speed.size(), 1U);
  const Speed speed = compare_speed(run.speed);
  ASSERT_EQ(speed.changes.size(), 1U);
  EXPECT_TRUE(speed.changes[0].paired);
  EXPECT_EQ(speed.changes[0].base_count, 3U);
  EXPECT_GT(speed.changes[0].base_median, 0);
}

TEST(pair, what_cannot_be_compared_is_refused_in_one_line) {
  const auto refused = [](const std::string& base, const std::string& head, const std::string& case_text = "") {
    PairArguments a = pair(base, head);
    a.case_text = case_text;
    return complaint([&] { run_pair(a); });
  };
  const std::string naive = "softmax.naive.hardened";
  EXPECT_THAT(refused(naive, "softmax.naive.hardend"), HasSubstr("near: softmax.naive.hardened"));
  EXPECT_THAT(refused(naive, "merge.nway.hardened"), HasSubstr("legal: two of one problem"));
  EXPECT_THAT(refused("attention.deferred.hardened", "attention_backward.broken.delta_not_subtracted"),
              HasSubstr("legal: two of one problem"));
  EXPECT_THAT(refused(naive, naive + "@2"), HasSubstr("only a seeded fault with a dose"));
  if (!seeded_faults().empty()) {
    for (const char* dose : {"@", "@0", "@-1", "@nan", "@inf", "@1x", "@1@2"}) {
      EXPECT_THAT(refused("attention.mma_f16.hardened", std::string("attention.broken.short_polynomial") + dose),
                  HasSubstr("must be a positive number"))
          << dose;
    }
  }
  EXPECT_THAT(refused(naive, naive, "merge:normal:1"), HasSubstr("takes none of the cases"));
  EXPECT_THAT(refused(naive, naive, "attention_backward:normal:1"), HasSubstr("takes none of the cases"));
  EXPECT_THAT(refused("attention.mma_f16.hardened", "attention.mma_f16.hardened", "attention:normal:1:format=f32"),
              HasSubstr("f32 is a format that not both"));
}

}  // namespace
}  // namespace flashproof::compare
