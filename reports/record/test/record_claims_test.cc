// Records that contradict themselves are refused in one line that names them; those that agree are taken.
#include "reports/record/record_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/system/error.h"

namespace flashproof {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json counts(int pass, int fail) {
  return {{"pass", pass},     {"undecided", 0},    {"vacuous", 0}, {"out_of_domain", 0},
          {"unsupported", 0}, {"inconclusive", 0}, {"fail", fail}};
}

json figure(double ratio) {
  return {{"elements", 64},
          {"finite_elements", 64},
          {"max_abs", 1e-7},
          {"mean_abs", 1e-8},
          {"max_ulp", 2.5},
          {"rmse", 2e-8},
          {"max_ratio", ratio},
          {"bias", {{"mean", 0.01}, {"limit", 0.5}, {"biased", false}}},
          {"ratio_octaves", {{"-3", 60}, {"-1", 4}}},
          {"ulp_octaves", {{"zero", 10}, {"0", 50}, {"1", 4}}}};
}

json record(const std::string& kernel, const std::string& form, const std::string& family, const std::string& failure) {
  const bool fails = !failure.empty();
  json failures = json::object();
  if (fails) failures[failure] = 2;
  const json point = json::array({16, 3, 0.25, 1.5});
  const json decided = {{"share", 1.0}, {"decided", 64}};
  json worst = figure(0.43);
  if (fails) worst["max_ratio"] = "inf";
  return {{"kernel", kernel},
          {"problem", "softmax"},
          {"form", form},
          {"format", "f32"},
          {"executor", "cpu"},
          {"math", "det"},
          {"family", family},
          {"cases", 8},
          {"verdict", fails ? "fail" : "pass"},
          {"counts",
           {{"cases", counts(fails ? 6 : 8, fails ? 2 : 0)}, {"elements", counts(fails ? 126 : 128, fails ? 2 : 0)}}},
          {"failures", {{"cases", failures}, {"elements", failures}}},
          {"power", {{"o", decided}, {"lse", decided}}},
          {"max_ratio", fails ? json("inf") : json(0.43)},
          {"terms",
           {{"weights", 1.0}, {"numerator", 2.0}, {"denominator", 3.0}, {"output", 4.0}, {"dominating", "output"}}},
          {"figures", {{"o", worst}, {"lse", figure(0.2)}}},
          {"profile", {{"length", {point}}, {"magnitude", {point}}, {"merges", {point}}}},
          {"heat", fails ? json{{"tensor", "o"},
                                {"rows", 2},
                                {"cols", 4},
                                {"cell_rows", 1},
                                {"cell_cols", 1},
                                {"cells", {"01X.", "NNIF"}}}
                         : json()},
          {"laws", {{"within_bound", counts(8, 0)}}},
          {"witness",
           {{"case", "softmax:normal:3"},
            {"verdict", fails ? "fail(" + failure + ")" : "pass"},
            {"detail", "o[7] is off"},
            {"tensor", "o"},
            {"index", 7},
            {"computed", "nan"},
            {"exact", 0.25},
            {"error", "inf"},
            {"ratio", "inf"},
            {"replay", "./flashproof replay softmax:normal:3"}}},
          {"ledger", nullptr}};
}

json document() {
  return {{"schema", "flashproof.report/5"},
          {"runs",
           {{{"compiler", "g++ 12"},
             {"date", "2026-11-22"},
             {"tier", "standard"},
             {"seed", 0},
             {"partial", nullptr},
             {"cases", 12},
             {"kernel_runs", 24},
             {"timing", {{"wall_seconds", 2.5}}}}}},
          {"records",
           {record("softmax.safe.hardened", "hardened", "normal", ""),
            record("softmax.naive.published", "published", "huge", "class_mismatch")}},
          {"investigate", json::array()},
          {"faults", nullptr},
          {"bench", nullptr}};
}

/// As a file has it: counts are unsigned there.
std::string complaint(const json& report) {
  try {
    check_records(parse_json(report.dump(), "a.json"), "a.json");
  } catch (const UsageError& e) {
    EXPECT_EQ(std::ranges::count(std::string(e.what()), '\n'), 0) << e.what();
    return e.what();
  }
  return "";
}

/// Of the document's record that passes (0) or fails (1), with some fields changed.
std::string changed(int record, const std::vector<std::pair<const char*, json>>& fields) {
  json report = document();
  for (const auto& [field, value] : fields) report["records"][record][json::json_pointer(field)] = value;
  return complaint(report);
}

TEST(RecordClaims, what_agrees_is_taken) {
  EXPECT_EQ(complaint(document()), "");
  // A law rejects what no element shows: another run of the kernel, storage beside the output.
  EXPECT_EQ(changed(1, {{"/counts/elements", counts(128, 0)},
                        {"/failures/elements", json::object()},
                        {"/max_ratio", 0.43},
                        {"/figures/o/max_ratio", 0.43}}),
            "");
  EXPECT_EQ(changed(0, {{"/max_ratio", 1 + 0x1p-50}, {"/figures/o/max_ratio", 1 + 0x1p-50}}), "")
      << "the evaluation's own";
}

TEST(RecordClaims, a_verdict_is_what_the_statistics_give) {
  EXPECT_EQ(changed(1, {{"/verdict", "pass"}}),
            "a.json: /records/1: softmax.naive.published f32 cpu det huge: verdict is pass, its statistics give fail");
  EXPECT_THAT(changed(0, {{"/verdict", "fail"}}), HasSubstr("verdict is fail, its statistics give pass"));
  EXPECT_THAT(changed(0, {{"/verdict", "perfect\n"}}), HasSubstr("verdict is perfect"));
  EXPECT_THAT(changed(0, {{"/power/o", {{"share", 0.0}, {"zero", 64}}}}),
              HasSubstr("verdict is pass, its statistics give undecided: nothing of o was decided"));
  EXPECT_THAT(changed(0, {{"/counts/cases", counts(0, 0)}, {"/cases", 0}}),
              HasSubstr("its statistics give unsupported"));
}

TEST(RecordClaims, failing_elements_fail_their_case) {
  const json failing = {{"exceeds_bound", 1}};
  EXPECT_THAT(changed(0, {{"/counts/elements", counts(127, 1)}, {"/failures/elements", failing}}),
              HasSubstr("its worst element is fail(exceeds_bound), its worst case pass"));
  EXPECT_THAT(changed(1, {{"/failures/elements", {{"silently_wrong", 2}}}}),
              HasSubstr("its worst element is fail(silently_wrong), its worst case fail(class_mismatch)"));
  EXPECT_THAT(changed(0, {{"/max_ratio", 5}, {"/figures/lse/max_ratio", 5}}),
              HasSubstr("its worst error/bound is 5, but no element failed"));
  EXPECT_THAT(changed(0, {{"/max_ratio", 1 + 0x1p-48}, {"/figures/o/max_ratio", 1 + 0x1p-48}}),
              HasSubstr("but no element failed"));
  EXPECT_THAT(changed(0, {{"/max_ratio", "nan"}, {"/figures/o/max_ratio", "nan"}}),
              HasSubstr("is nan, but no element"));
  EXPECT_THAT(changed(0, {{"/laws/within_bound", counts(7, 1)}}), HasSubstr("within_bound rejects 1 cases, 0 failed"));
}

TEST(RecordClaims, counts_add_up) {
  EXPECT_THAT(changed(0, {{"/cases", 9}}), HasSubstr("it has 9 cases, by verdict 8"));
  EXPECT_THAT(changed(1, {{"/failures/cases/leak", 1}}), HasSubstr("2 cases failed, by failure 3"));
  EXPECT_THAT(changed(1, {{"/failures/elements", json::object()}}), HasSubstr("2 elements failed, by failure 0"));
  EXPECT_THAT(changed(0, {{"/figures/o/elements", 65}}), HasSubstr("figures have 129 elements, by verdict 128"));
  EXPECT_THAT(changed(0, {{"/power", json::object()}}), HasSubstr("power is of 0 elements of o, its figures of 64"));
  EXPECT_THAT(changed(0, {{"/power/o/share", 0.5}}), HasSubstr("0.5 of o is said to be decided, its counts give 1"));
  EXPECT_THAT(changed(0, {{"/max_ratio", 0.1}}), HasSubstr("max_ratio is 0.1, its figures give 0.43"));
  EXPECT_THAT(changed(0, {{"/max_ratio", nullptr}}), HasSubstr("max_ratio is null, its figures give 0.43"));
}

TEST(RecordClaims, a_witness_is_one_of_the_worst_cases) {
  EXPECT_THAT(changed(1, {{"/witness/verdict", "pass"}}),
              HasSubstr("its witness is pass, its worst case fail(class_mismatch)"));
  EXPECT_THAT(changed(0, {{"/witness/verdict", "fail(leak)"}}), HasSubstr("its witness is fail(leak)"));
  EXPECT_THAT(changed(0, {{"/witness/verdict", "fine"}}), HasSubstr("/witness/verdict is \"fine\", legal is"));
  EXPECT_THAT(changed(0, {{"/witness", nullptr}}), HasSubstr("cases ran, and there is no witness"));
}

TEST(RecordClaims, what_decides_the_verdict_must_be_there) {
  for (const char* field :
       {"verdict", "cases", "counts", "failures", "power", "figures", "laws", "max_ratio", "witness"}) {
    json report = document();
    report["records"][0].erase(field);
    EXPECT_THAT(complaint(report), HasSubstr(std::string("/records/0 has no \"") + field + "\"")) << field;
  }
  EXPECT_THAT(complaint(json::object()), HasSubstr("has no \"records\""));
}

}  // namespace
}  // namespace flashproof
