#include "reports/compare/comparison.h"

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

struct Two {
  Document base, head;
  Comparison c;
  Two(const Report& a, const Report& b, bool partial = false)
      : base(document(a, "a.json")), head(document(b, "b.json")), c(compare(base, head, partial)) {}
};

TEST(comparison, a_report_and_itself_show_no_change) {
  const Two two(small_report(), small_report());
  EXPECT_EQ(two.c.changed(), 0U);
  EXPECT_TRUE(two.c.by_class().empty() && two.c.by_error().empty());
  EXPECT_EQ(two.c.other_cases, 0U);
  for (const KernelChange& k : two.c.kernels) EXPECT_EQ(k.changed, 0U);
}

TEST(comparison, paths_places_in_the_plan_and_the_ledger_are_no_change) {
  Report head = small_report();
  Record& r = record_of(head, 0);
  r.worst->file = "elsewhere/x.safetensors";
  r.o.witness.case_index = 99;  // the place in the plan
  r.ledger = 0.9;
  head.runs[0].environment.date = "2027-01-01";
  EXPECT_EQ(Two(small_report(), head).c.changed(), 0U);
}

TEST(comparison, class_changes_come_most_harmful_first_and_improvements_last) {
  Report base = small_report(), head = small_report();
  fail_cases(record_of(base, 0), Failure::class_mismatch, 2);
  fail_cases(record_of(head, 1), Failure::class_mismatch, 5);
  fail_cases(record_of(head, 2), Failure::silently_wrong, 1);
  const Two two(base, head);
  const auto list = two.c.by_class();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(to_string(list[0]->classes), "pass -> silently_wrong");
  EXPECT_EQ(to_string(list[1]->classes), "pass -> class_mismatch");
  EXPECT_EQ(list[1]->classes.cases, 5U);
  EXPECT_EQ(to_string(list[2]->classes), "class_mismatch -> pass");
  EXPECT_TRUE(list[2]->classes.better);
  EXPECT_TRUE(two.c.by_error().empty());
}

TEST(comparison, a_case_that_betters_does_not_hide_one_that_worsens) {
  Report base = small_report(), head = small_report();
  fail_seeds(record_of(base, 0), Failure::silently_wrong, {3, 3});
  fail_seeds(record_of(head, 0), Failure::silently_wrong, {7, 7});
  for (Report* report : {&base, &head}) fail_seeds(record_of(*report, 0), Failure::leak, {5, 5});
  const Two two(base, head);
  ASSERT_EQ(two.c.by_class().size(), 1U);
  const RecordChange& r = *two.c.by_class()[0];
  EXPECT_TRUE(r.differs && r.classes.worse && r.classes.better);
  EXPECT_EQ(to_string(r.classes), "pass -> silently_wrong, others the other way");
  EXPECT_EQ(moves_text(r.classes), "1 pass -> silently_wrong (seed 7), 1 silently_wrong -> pass (seed 3)");
  EXPECT_EQ(r.replay(), "./flashproof replay softmax:normal:7:format=f32 --kernel softmax.a.hardened");
  EXPECT_EQ(two.c.changed(), 1U);
  EXPECT_TRUE(two.c.kernels[0].classes.worse);
  EXPECT_FALSE(two.c.kernels[1].classes.any());
}

TEST(comparison, one_family_that_betters_does_not_hide_another_of_its_kernel) {
  Report base = small_report(), head = small_report();
  fail_cases(record_of(base, 0), Failure::silently_wrong, 2);
  fail_cases(record_of(head, 1), Failure::silently_wrong, 2);
  const Two two(base, head);
  EXPECT_TRUE(two.c.kernels[0].classes.worse && two.c.kernels[0].classes.better);
}

TEST(comparison, errors_move_by_ratio_then_quantiles_then_worst_ulp) {
  Report base = small_report(), head = small_report();
  record_of(head, 0).o.max_ratio = 0.6;
  record_of(head, 1).o.max_ratio = 0.9;
  record_of(head, 2).o = made_stats(0.5, 1.5, {{kExact, 80}, {-2, 18}, {0, 2}});
  const Two two(base, head);
  const auto list = two.c.by_error();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]->key().family, "ties");  // 0.9 before 0.6
  EXPECT_EQ(list[1]->key().family, "normal");
  EXPECT_EQ(list[2]->error, Direction::better);  // p50 went to 0
  const KernelChange& a = two.c.kernels[0];
  EXPECT_EQ(a.families, 2U);
  EXPECT_EQ(a.changed, 2U);
  EXPECT_EQ(a.head.max_ratio, 0.9);
  EXPECT_EQ(a.error, Direction::worse);
  EXPECT_EQ(a.base.figures.at("o").octaves.elements(), 200U);
  EXPECT_NEAR(a.base.figures.at("o").rmse, 2e-8, 1e-20);
}

TEST(comparison, the_bias_of_a_kernel_is_that_of_its_families_together) {
  Report head = small_report();
  ErrorStats& biased = record_of(head, 0).o;
  biased.bias_elements = 300;
  biased.bias_error = biased.bias_drift = {};
  biased.bias_error.add(0.5 * 300);
  biased.bias_drift.add(0.1 * 300);
  const Two two(small_report(), head);
  const TensorFigures& o = two.c.kernels[0].head.figures.at("o");
  EXPECT_DOUBLE_EQ(o.bias, (0.5 * 300 + 0.001 * 100) / 400);
  EXPECT_NEAR(o.bias_limit, (0.1 * 300 + 0.03 * 100) / 400, 1e-12);
  EXPECT_TRUE(o.biased);
  EXPECT_FALSE(two.c.kernels[0].base.figures.at("o").biased);
  EXPECT_FALSE(two.c.kernels[1].head.figures.at("o").biased);
}

TEST(comparison, nan_is_worse_than_every_number_and_equal_to_itself) {
  Report nan = small_report();
  record_of(nan, 0).o.max_ratio = NAN;
  EXPECT_EQ(Two(small_report(), nan).c.by_error()[0]->error, Direction::worse);
  EXPECT_EQ(Two(nan, small_report()).c.by_error()[0]->error, Direction::better);
  EXPECT_EQ(Two(nan, nan).c.changed(), 0U);
}

TEST(comparison, other_seeds_are_other_cases_and_nothing_is_claimed_of_their_errors) {
  Report head = small_report();
  for (Record& r : head.result.records) {
    move_seeds(r, 100);
    r.o = made_stats(0.93, 3.5, {{-2, 60}, {1, 40}});
  }
  fail_cases(record_of(head, 0), Failure::exceeds_bound, 1);
  const Two two(small_report(), head);
  EXPECT_EQ(two.c.other_cases, 4U);
  EXPECT_TRUE(two.c.by_class().empty() && two.c.by_error().empty());
  for (const RecordChange& r : two.c.records) EXPECT_EQ(r.more_failures_p, 1);  // 1 of 12 proves nothing
  // All of 12 against none do: 2 ways in C(24, 12) = 2704156, four tests.
  fail_seeds(record_of(head, 0), Failure::exceeds_bound, {101, 111});
  EXPECT_NEAR(Two(small_report(), head).c.records[0].more_failures_p, 4 * 2 / 2704156.0, 1e-15);
}

TEST(comparison, a_partial_report_is_refused_unless_asked_for_and_then_named) {
  Report partial = small_report();
  partial.runs[0].partial = "interrupted before every case had run.";
  partial.result.records.pop_back();
  Record& fewer = record_of(partial, 2);
  fewer.cases = fewer.by_case[static_cast<std::size_t>(VerdictKind::pass)] = 5;
  fewer.seeds = {};
  fewer.seeds.add(SeedSet::Interval{0, 4});
  EXPECT_THAT(complaint([&] { Two(small_report(), partial); }),
              HasSubstr("b.json: the report is partial (interrupted"));
  const Two two(small_report(), partial, true);
  EXPECT_THAT(two.c.partial, HasSubstr("HEAD: interrupted"));
  EXPECT_EQ(two.c.other_cases, 1U);
  EXPECT_EQ(two.c.only_base.size(), 1U);
}

TEST(comparison, what_is_in_one_report_alone_is_listed_and_nothing_in_common_is_refused) {
  Report head = small_report();
  record_of(head, 3).kernel = &made_kernel("softmax.c.hardened");
  const Two two(small_report(), head);
  ASSERT_EQ(two.c.only_base.size(), 1U);
  EXPECT_EQ(two.c.only_base[0].text(), "softmax.b.hardened/f32/cpu/det/ties");
  EXPECT_EQ(two.c.only_head[0].kernel, "softmax.c.hardened");
  for (Record& r : head.result.records) r.format = Format::bf16;
  EXPECT_THAT(complaint([&] { Two(small_report(), head); }), HasSubstr("in common"));
}

}  // namespace
}  // namespace flashproof::compare
