#include "reports/compare/comparison.h"

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

struct Two {
  Document base, head;
  Comparison c;
  Two(const Json& a, const Json& b, bool partial = false)
      : base(document(a, "a.json")), head(document(b, "b.json")), c(compare(base, head, partial)) {}
};

TEST(comparison, a_report_and_itself_show_no_change) {
  const Two two(report_json(), report_json());
  EXPECT_EQ(two.c.changed(), 0U);
  EXPECT_TRUE(two.c.by_class().empty() && two.c.by_error().empty());
  EXPECT_EQ(two.c.other_cases, 0U);
  for (const KernelChange& k : two.c.kernels) EXPECT_EQ(k.changed, 0U);
}

TEST(comparison, paths_places_in_the_plan_and_the_ledger_are_no_change) {
  Json head = report_json();
  head["records"][0]["witness"]["replay"] = "./flashproof replay elsewhere/x.safetensors";
  head["records"][0]["witness"]["file"] = "elsewhere/x.safetensors";
  head["records"][0]["figures"]["o"]["state"] = "another place in the plan";
  head["records"][0]["ledger"] = {{"ratio", 0.9}, {"beaten", false}};
  head["runs"][0]["date"] = "2027-01-01";
  EXPECT_EQ(Two(report_json(), head).c.changed(), 0U);
}

TEST(comparison, class_changes_come_most_harmful_first_and_improvements_last) {
  Json base = report_json(), head = report_json();
  fail_cases(base["records"][0], "class_mismatch", 2);
  fail_cases(head["records"][1], "class_mismatch", 5);
  fail_cases(head["records"][2], "silently_wrong", 1);
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

/// Of the 12 cases of a record, one seed each: class by seed.
void set_classes(Json& record, const std::map<std::uint64_t, std::string>& by_seed) {
  record["seeds_by_class"] = Json::object();
  record["counts"]["cases"]["pass"] = 12 - by_seed.size();
  record["counts"]["cases"]["fail"] = by_seed.size();
  record["failures"]["cases"] = Json::object();
  for (const auto& [seed, name] : by_seed) {
    record["seeds_by_class"][name].push_back({seed, seed});
    record["failures"]["cases"][name] = record["failures"]["cases"].value(name, 0U) + 1;
  }
}

TEST(comparison, a_case_that_betters_does_not_hide_one_that_worsens) {
  Json base = report_json(), head = report_json();
  for (Json* report : {&base, &head}) {
    for (Json& r : (*report)["records"]) set_classes(r, {});
  }
  set_classes(base["records"][0], {{3, "silently_wrong"}, {5, "leak"}});
  set_classes(head["records"][0], {{7, "silently_wrong"}, {5, "leak"}});
  const Two two(base, head);
  ASSERT_EQ(two.c.by_class().size(), 1U);
  const RecordChange& r = *two.c.by_class()[0];
  EXPECT_TRUE(r.differs && r.classes.worse && r.classes.better);
  EXPECT_EQ(to_string(r.classes), "pass -> silently_wrong, others the other way");
  EXPECT_EQ(moves_text(r.classes, r.base->classes, r.head->classes),
            "1 pass -> silently_wrong (seed 7), 1 silently_wrong -> pass (seed 3)");
  EXPECT_EQ(r.replay(), "./flashproof replay softmax:normal:7:format=f32 --kernel softmax.a.hardened");
  EXPECT_EQ(two.c.changed(), 1U);
  EXPECT_TRUE(two.c.kernels[0].classes.worse);
  EXPECT_FALSE(two.c.kernels[1].classes.any());

  // Reports that say it on one side alone are compared by their counts, and saying it is no change.
  for (Json& record : base["records"]) record.erase("seeds_by_class");
  EXPECT_EQ(Two(base, head).c.changed(), 0U);
}

TEST(comparison, one_family_that_betters_does_not_hide_another_of_its_kernel) {
  Json base = report_json(), head = report_json();
  fail_cases(base["records"][0], "silently_wrong", 2);
  fail_cases(head["records"][1], "silently_wrong", 2);
  const Two two(base, head);
  EXPECT_TRUE(two.c.kernels[0].classes.worse && two.c.kernels[0].classes.better);
}

TEST(comparison, errors_move_by_ratio_then_quantiles_then_worst_ulp) {
  Json base = report_json(), head = report_json();
  head["records"][0]["max_ratio"] = 0.6;
  head["records"][1]["max_ratio"] = 0.9;
  head["records"][2]["figures"]["o"] = figure_json(0.5, 1.5, {{"zero", 80}, {"-2", 18}, {"0", 2}});
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
  Json head = report_json();
  head["records"][0]["figures"]["o"]["bias"] = {{"mean", 0.5}, {"limit", 0.1}, {"biased", true}, {"elements", 300}};
  const Two two(report_json(), head);
  const TensorFigures& o = two.c.kernels[0].head.figures.at("o");
  EXPECT_DOUBLE_EQ(o.bias, (0.5 * 300 + 0.001 * 100) / 400);
  EXPECT_DOUBLE_EQ(o.bias_limit, (0.1 * 300 + 0.03 * 100) / 400);
  EXPECT_TRUE(o.biased);
  EXPECT_FALSE(two.c.kernels[0].base.figures.at("o").biased);
  EXPECT_FALSE(two.c.kernels[1].head.figures.at("o").biased);
}

TEST(comparison, nan_is_worse_than_every_number_and_equal_to_itself) {
  Json nan = report_json();
  nan["records"][0]["max_ratio"] = "nan";
  EXPECT_EQ(Two(report_json(), nan).c.by_error()[0]->error, Direction::worse);
  EXPECT_EQ(Two(nan, report_json()).c.by_error()[0]->error, Direction::better);
  EXPECT_EQ(Two(nan, nan).c.changed(), 0U);
}

TEST(comparison, other_seeds_are_other_cases_and_nothing_is_claimed_of_their_errors) {
  Json head = report_json();
  head["runs"][0]["seed"] = 100;
  for (Json& r : head["records"]) {
    r["seeds"] = {{100, 111}};
    r["max_ratio"] = 0.93;
    r["figures"]["o"] = figure_json(0.93, 3.5, {{"-2", 60}, {"1", 40}});
  }
  fail_cases(head["records"][0], "exceeds_bound", 1);
  const Two two(report_json(), head);
  EXPECT_EQ(two.c.other_cases, 4U);
  EXPECT_TRUE(two.c.by_class().empty() && two.c.by_error().empty());
  for (const RecordChange& r : two.c.records) EXPECT_EQ(r.more_failures_p, 1);  // 1 of 12 proves nothing
  // All of 12 against none do: 2 ways in C(24, 12) = 2704156, four tests.
  fail_cases(head["records"][0], "exceeds_bound", 12);
  EXPECT_NEAR(Two(report_json(), head).c.records[0].more_failures_p, 4 * 2 / 2704156.0, 1e-15);
}

TEST(comparison, without_seeds_in_the_records_those_of_the_runs_decide) {
  Json base = report_json(), head = report_json();
  for (Json* report : {&base, &head}) {
    for (Json& r : (*report)["records"]) r.erase("seeds");
  }
  EXPECT_EQ(Two(base, head).c.other_cases, 0U);
  head["runs"][0]["tier"] = "quick";
  EXPECT_EQ(Two(base, head).c.other_cases, 4U);
}

TEST(comparison, a_partial_report_is_refused_unless_asked_for_and_then_named) {
  Json partial = report_json();
  partial["runs"][0]["partial"] = "interrupted before every case had run.";
  partial["records"].erase(3);
  partial["records"][2]["seeds"] = {{0, 4}};
  partial["records"][2]["cases"] = 5;
  partial["records"][2]["counts"]["cases"]["pass"] = 5;
  EXPECT_THAT(complaint([&] { Two(report_json(), partial); }), HasSubstr("b.json: the report is partial (interrupted"));
  const Two two(report_json(), partial, true);
  EXPECT_THAT(two.c.partial, HasSubstr("HEAD: interrupted"));
  EXPECT_EQ(two.c.other_cases, 1U);
  EXPECT_EQ(two.c.only_base.size(), 1U);
}

TEST(comparison, what_is_in_one_report_alone_is_listed_and_nothing_in_common_is_refused) {
  Json head = report_json();
  head["records"][3]["kernel"] = "softmax.c.hardened";
  const Two two(report_json(), head);
  ASSERT_EQ(two.c.only_base.size(), 1U);
  EXPECT_EQ(two.c.only_base[0].text(), "softmax.b.hardened/f32/cpu/det/ties");
  EXPECT_EQ(two.c.only_head[0].kernel, "softmax.c.hardened");
  for (Json& r : head["records"]) r["format"] = "bf16";
  EXPECT_THAT(complaint([&] { Two(report_json(), head); }), HasSubstr("in common"));
}

}  // namespace
}  // namespace flashproof::compare
