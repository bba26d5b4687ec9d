#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/record/test/report_fixture.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

// One element above its probable bound and one output that errs one way, in a row set that leaves its domain once.
TEST(Report, what_chance_does_not_explain_and_the_domain_stand_in_all_three_forms) {
  ReportFixture f;
  Record& r = f.report.result.records[1];  // the hardened one
  ElementBound bound{0, 1e-5, 0, 0};
  bound.probable = 1e-6;
  r.o.investigate = 3;
  r.o.probable_witness = {4.5, 0, 17, 1, 1, 4.5e-6, bound};
  r.lse.bias_elements = r.lse.bias_rows = 2;
  r.lse.bias_error.add(-9);
  r.lse.bias_drift.add(1);
  r.domain.rows = 9;
  r.domain.outside = 2;
  r.domain.by_name["scores | below"] = {2, {"", 30, 12}, {"", 6, 12}};
  r.refined = 1;
  ASSERT_EQ(investigations(f.report).size(), 2U);
  EXPECT_TRUE(investigations(f.report)[0].bias) << "nine times its limit, more than 4.5 times the probable bound";

  const auto json = nlohmann::json::parse(json_text(f.report, Spelled::out));
  ASSERT_EQ(json["investigate"].size(), 2U);
  const auto& above = json["investigate"][json["investigate"][0]["what"] == "biased" ? 1 : 0];
  EXPECT_EQ(above["what"], "above_probable");
  EXPECT_EQ(above["index"], 17);
  EXPECT_EQ(above["case"], "softmax:odd_family:0:format=f32");
  EXPECT_EQ(above["assumption"]["key"], "sum_centred");
  EXPECT_EQ(json["records"][1]["figures"]["lse"]["bias"]["biased"], true);
  EXPECT_EQ(json["records"][1]["figures"]["lse"]["bias"]["mean"], -4.5);
  EXPECT_EQ(json["records"][1]["figures"]["o"]["probable"]["investigate"], 3);
  EXPECT_EQ(json["records"][1]["domain"]["outside"], 2);
  EXPECT_EQ(json["records"][1]["domain"]["preconditions"][0]["nearest_inside"]["load"], 0.5);
  EXPECT_EQ(json["records"][1]["refined"], 1);

  const std::string table = table_text(f.report, 120, false);
  EXPECT_THAT(table, HasSubstr("To investigate"));
  EXPECT_THAT(
      table,
      HasSubstr("3 of 4 elements of o above the probable bound, worst 4.50 of it\n    o[17] of softmax:odd_family:0"));
  EXPECT_THAT(table, HasSubstr("3 elements above their probable bound in 1 of"));
  EXPECT_THAT(table, HasSubstr("sum_centred: the sum of p.v rounds either way"));
  EXPECT_THAT(table, HasSubstr("biased: mean error of lse is -4.50 u max(1, |lse|), chance allows 0.50 (2 rows of "));
  EXPECT_THAT(table, HasSubstr("odd_family: 2 of 9 rows outside: scores | below (2, worst 30, limit 12)"));
  EXPECT_THAT(table, HasSubstr("0.50 of the limit: scores | below (6, limit 12)"));

  const std::string markdown = markdown_text(f.report);
  EXPECT_THAT(markdown, HasSubstr("## To investigate"));
  EXPECT_THAT(markdown, HasSubstr("## Domain of the bounds"));
  EXPECT_THAT(markdown, HasSubstr("linear-fractional form solved: 1 of 12 elements"));
  EXPECT_FALSE(has_finding(f.report.result.records, true)) << "worth a look, no failure";
}

TEST(Investigate, formats_stand_together_and_the_worst_one_speaks) {
  ReportFixture f;
  Record one = f.report.result.records[1];
  ElementBound bound{0, 1e-5, 0, 0};
  bound.probable = 1e-6;
  one.o.investigate = 3;
  one.o.probable_witness = {2, 0, 5, 1, 1, 2e-6, bound};
  Record other = one;
  other.format = Format::bf16;
  other.o.probable_witness.ratio = 7;
  Record elsewhere = one;
  elsewhere.executor = Executor::cuda;
  f.report.findings.clear();  // they point at the records
  f.report.result.records = {one, other, elsewhere};
  const auto list = investigations(f.report);
  const auto groups = group_investigations(list);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].formats, "bf16,f32");
  EXPECT_EQ(groups[0].worst.ratio, 7);
  EXPECT_EQ(groups[0].elements, 6U);
  EXPECT_EQ(groups[0].of, 2 * one.o.elements);
  EXPECT_EQ(groups[1].formats, "f32");
  EXPECT_THAT(investigation_summary(f.report, list), HasSubstr("9 elements above their probable bound in 3 of 3 "));
  EXPECT_EQ(blamed_assumptions(list).size(), 1U);
}

TEST(Investigate, a_long_list_is_cut_to_its_worst) {
  ReportFixture f;
  Record one = f.report.result.records[1];
  one.o.investigate = 1;
  f.report.findings.clear();  // they point at the records
  f.report.result.records.clear();
  for (int i = 0; i < 300; ++i) {
    one.family = "family_" + std::to_string(i);
    one.o.probable_witness = {2.0 + i, 0, 0, 1, 1, 2e-6, {0, 1e-5, 0, 0}};
    f.report.result.records.push_back(one);
  }
  const std::string table = table_text(f.report, 120, false), markdown = markdown_text(f.report);
  EXPECT_THAT(table, HasSubstr("300 elements above their probable bound in 300 of 300"));
  EXPECT_THAT(table, HasSubstr("the worst 12 of 300:"));
  EXPECT_THAT(table, HasSubstr("cpu family_299 f32: 1 of"));
  EXPECT_THAT(table, Not(HasSubstr("cpu family_5 f32: 1 of")));
  EXPECT_THAT(markdown, HasSubstr("280 more in report.json"));
}

TEST(Domain, a_kernel_far_from_every_limit_has_no_line) {
  ReportFixture f;
  Record& r = f.report.result.records[1];
  r.domain.rows = 9;
  r.domain.by_name["far"] = {0, {}, {"", 1e-3, 1}};
  EXPECT_FALSE(near_a_limit(r.domain));
  EXPECT_THAT(table_text(f.report, 120, false), Not(HasSubstr("far")));
  EXPECT_THAT(markdown_text(f.report), Not(HasSubstr("far:")));
  r.domain.by_name["near"] = {0, {}, {"", 0.5, 1}};
  EXPECT_TRUE(near_a_limit(r.domain));
  EXPECT_THAT(table_text(f.report, 120, false), HasSubstr("0.50 of the limit: near"));
}

TEST(Domain, an_amount_that_is_not_kept_is_not_shown) {
  DomainStats domain;
  domain.rows = 2;
  domain.outside = 2;
  domain.by_name["sums"] = {2, {"", 1, 1}, {}};
  EXPECT_EQ(outside_text(domain), "2 of 2 rows outside: sums (2)");
}

}  // namespace
}  // namespace flashproof
