// The page as text; page_test.py looks at it in a browser.
#include "reports/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "reference/problem/error.h"
#include "reports/html/parts.h"
#include "reports/html/report_file.h"

namespace flashproof {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json counts(int pass, int fail) {
  return {{"pass", pass},     {"vacuous", 0},      {"out_of_domain", 0},
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
  return {{"kernel", kernel},
          {"problem", "softmax"},
          {"form", form},
          {"format", "f32"},
          {"executor", "cpu"},
          {"math", "det"},
          {"family", family},
          {"cases", 8},
          {"verdict", fails ? "fail" : "pass"},
          {"counts", {{"cases", counts(fails ? 6 : 8, fails ? 2 : 0)}}},
          {"failures", {{"cases", failures}}},
          {"max_ratio", fails ? json("inf") : json(0.43)},
          {"terms",
           {{"weights", 1.0}, {"numerator", 2.0}, {"denominator", 3.0}, {"output", 4.0}, {"dominating", "output"}}},
          {"figures", {{"o", figure(0.43)}, {"lse", figure(0.2)}}},
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
  return {{"schema", "flashproof.report/4"},
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

std::string refusal(const json& report) {
  try {
    html_text(report);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Html, SameReportSameBytes) { EXPECT_EQ(html_text(document()), html_text(json::parse(document().dump()))); }

TEST(Html, LoadsNothing) {
  const std::string page = html_text(document());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  for (const char* from_outside :
       {"<script src", "<link rel=\"stylesheet", "@import", "url(", "<img", "<iframe", "sourceMappingURL"}) {
    EXPECT_THAT(page, Not(HasSubstr(from_outside)));
  }
  EXPECT_THAT(page, HasSubstr("Chart.js v3.9.1"));
  EXPECT_THAT(page, HasSubstr("Permission is hereby granted, free of charge"));
}

TEST(Html, SaysTheVerdictFirst) {
  json report = document();
  std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<strong>Passes.</strong> No hardened kernel fails, in 1 kernel"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"partial\"")));
  report["records"].push_back(record("softmax.safe.hardened", "hardened", "huge", "silently_wrong"));
  report["runs"][0]["partial"] = "interrupted";
  page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<strong>Fails.</strong> Hardened kernels fail in 1 of 2 kernel"));
  EXPECT_THAT(page, HasSubstr("<strong>Partial report:</strong> interrupted"));
  report["runs"][0]["partial"] = nullptr;
  report["records"] = json::array();
  EXPECT_THAT(html_text(report), HasSubstr("No hardened kernel was run"));
}

TEST(Html, PassesOnlyWhatHasRunToItsEndAndWasDecided) {
  json report = document();
  report["runs"][0]["partial"] = "interrupted";
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Partial.</strong> No hardened kernel fails in what has run: 8 of"));
  report["runs"][0]["partial"] = nullptr;
  // Open cases or elements are no finding by day; a nightly run fails for them, whatever the kernel.
  for (const char* where : {"/records/0/counts/cases/inconclusive", "/records/1/counts/cases/inconclusive",
                            "/records/1/counts/elements/inconclusive"}) {
    json open = report;
    open[json::json_pointer(where)] = 1;
    EXPECT_THAT(html_text(open), HasSubstr("<strong>Passes.</strong>")) << where;
    open["runs"][0]["tier"] = "nightly";
    EXPECT_THAT(html_text(open), HasSubstr("<strong>Undecided.</strong> A nightly run fails")) << where;
  }
  report["runs"][0]["tier"] = "nightly";
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Passes.</strong>"));
  report["runs"][0]["tier"] = "quick";
  json& cases = report["records"][0]["counts"]["cases"];
  cases["inconclusive"] = cases["pass"];
  cases["pass"] = 0;
  report["records"][0]["verdict"] = "inconclusive";
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Undecided.</strong> No hardened kernel fails, and none passed"));
}

TEST(Html, NoRatioIsWorseThanNaN) {
  const double nan = std::nan("");
  EXPECT_TRUE(html::is_worse(nan, 3.0));
  EXPECT_TRUE(html::is_worse(nan, INFINITY));
  EXPECT_FALSE(html::is_worse(nan, nan));
  EXPECT_FALSE(html::is_worse(3.0, nan));
  EXPECT_TRUE(html::is_worse(3.0, 2.0));
  EXPECT_FALSE(html::is_worse(2.0, 2.0));
  EXPECT_TRUE(html::is_worse(0.0, std::nullopt));
  EXPECT_FALSE(html::is_worse(std::nullopt, 0.0));
  // The row of a finding shows its worst format.
  json report = document();
  json other = report["records"][1];
  report["records"][1]["max_ratio"] = 2;
  other["format"] = "bf16";
  other["max_ratio"] = "nan";
  other["witness"]["replay"] = "./flashproof replay the-nan-one";
  report["records"].push_back(other);
  const std::string page = html_text(report);
  EXPECT_THAT(page.substr(page.find("<tr id=\"f1\">"), 600), HasSubstr("the-nan-one"));
}

TEST(Html, WithoutScriptsThereAreTablesAndPlots) {
  const std::string page = html_text(document());
  EXPECT_THAT(page, HasSubstr("<tr data-kernel=\"softmax.safe.hardened\"><th scope=\"row\" "
                              "title=\"softmax.safe.hardened\">safe</th><td></td><td class=\"r2\">.43</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"class\"><a href=\"#f1\">NaN</a></td>"));
  EXPECT_THAT(page, HasSubstr("<tr id=\"f1\"><th scope=\"row\" class=\"id\">softmax.naive.published</th>"));
  EXPECT_THAT(page, HasSubstr("<code class=\"cmd\">./flashproof replay softmax:normal:3</code>"));
  const std::string plots = page.substr(page.find("<noscript>"), page.find("</noscript>") - page.find("<noscript>"));
  for (const char* plot : {"Error against length", "Error against magnitude", "Error against merges",
                           "How far off elements are", "Who uses the bound", "softmax.naive.published f32 huge"}) {
    EXPECT_THAT(plots, HasSubstr(plot));
  }
  EXPECT_THAT(plots, HasSubstr("<pre>01X.\nNNIF\n</pre>"));
}

TEST(Html, ACellShowsTheWorstOfAllFormatsAndHowFarOffItFails) {
  json report = document();
  json narrow = report["records"][0];
  narrow["format"] = "bf16";
  narrow["max_ratio"] = 0.99;
  report["records"].push_back(narrow);
  report["records"][1]["max_ratio"] = 3.25;
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<td class=\"r4\">.99</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"class\"><a href=\"#f1\">NaN 3.25</a></td>"));
  EXPECT_THAT(page, Not(HasSubstr("f32 where it ran")));
}

TEST(Html, TheKernelTableHasMeanBiasAndTheFourTerms) {
  json report = document();
  report["records"].erase(1);
  report["records"][0]["figures"]["o"]["bias"]["elements"] = 64;
  const std::string page = html_text(report);
  // 10 exact, 50 in [1, 2), 4 in [2, 4) ulp.
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">2.50</td><td class=\"n\">0.91..1.81</td><td class=\"n\">2e-8</td>"
                              "<td class=\"n\">0.01</td><td class=\"n\">0.43</td><td>output</td>"
                              "<td class=\"n\">10, 20, 30, 40</td>"));
}

// The ends are open: what lies in them is no octave.
TEST(Html, OpenEndsOfTheOctavesStayOpen) {
  const UlpOctaves octaves = html::ulp_octaves({0, {{-20, 3}, {43, 1}, {60, 2}}});
  EXPECT_EQ(octaves.counts.at(kHighestOctave), 3U);
  EXPECT_EQ(octave_text(octaves.quantile(0.99)).substr(0, 3), ">= ");
  EXPECT_EQ(octave_text(octaves.quantile(0.5)).substr(0, 2), "< ");
}

TEST(Html, EveryStringIsText) {
  const std::string evil = "<img src=x onerror=\"alert(1)\">'\"&</script><!--\xE2\x80\xA8\x01\n\xE2\x80\xAE";
  json report = document();
  // Into every string there is, keys of free objects included, but what decides how the page is built.
  const std::function<void(json&)> poison = [&](json& value) {
    if (value.is_string() && value != "flashproof.report/4" && value != "inf" && value != "nan" && value != "01X." &&
        value != "NNIF") {
      value = value.get<std::string>() + evil;
    }
    if (value.is_structured()) {
      for (auto& inner : value) poison(inner);
    }
  };
  for (const char* form : {"hardened", "published"}) {
    for (json& r : report["records"]) {
      if (r["form"] != form) continue;
      poison(r);
      r["form"] = form;
      r["figures"]["o" + evil] = figure(0.3);
      r["laws"][evil] = counts(1, 1);
    }
  }
  poison(report["runs"]);
  report["runs"][0]["partial"] = evil;
  report["runs"][0][evil] = evil;
  report["investigate"] = {{{"kernel", evil},
                            {"format", evil},
                            {"family", evil},
                            {"tensor", evil},
                            {"what", evil},
                            {"case", evil},
                            {"assumption", {{"key", evil}, {"text", evil}}}}};
  report["faults"] = {{"faults",
                       {{{"number", evil},
                         {"id", evil},
                         {"defect", evil},
                         {"laws", {{evil, {{"rejects", true}, {"executed", 1}, {"case", evil}, {"detail", evil}}}}}}}},
                      {"partial", true},
                      {"partial_reason", evil},
                      {"survivors", 0}};
  report["bench"] = {{"context", {{"date", evil}}},
                     {"benchmarks", {{{"name", evil}, {"time_unit", evil}, {"real_time", 1.0}}}}};
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("onerror"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=\"")));
  EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  const std::string clean = html_text(document());
  const auto ends = [](const std::string& text) {
    std::size_t n = 0;
    for (std::size_t at = text.find("</script"); at != std::string::npos; at = text.find("</script", at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(ends(page), ends(clean));
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

TEST(Html, DataIsJson) {
  const std::string text = html::condensed(html::read_view(document()));
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  const json data = json::parse(text);
  EXPECT_EQ(data["rows"].size(), 2U);
  EXPECT_EQ(data["fields"].size(), data["rows"][0].size());
}

// What records share stands in the page once; what differs in one digit that is shown does not.
TEST(Html, EqualPartsOfRecordsAreStoredOnce) {
  json report = document();
  json twin = report["records"][0];
  twin["family"] = "twin";
  report["records"].push_back(twin);
  const auto parts = [](const json& document) {
    const json data = json::parse(html::condensed(html::read_view(document)));
    const auto at = [&](const char* name) {
      const json& fields = data["fields"];
      return static_cast<std::size_t>(std::find(fields.begin(), fields.end(), name) - fields.begin());
    };
    json list = json::array();
    for (const char* name : {"figures", "ratios", "ulps", "profile"}) {
      list.push_back({data["rows"][0][at(name)], data["rows"].back()[at(name)]});
    }
    list.push_back(data["pool"]);
    return list;
  };
  const json same = parts(report);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(same[i][0], same[i][1]) << i;
  EXPECT_EQ(same[4], parts(document())[4]);

  report["records"].back()["figures"]["o"]["max_abs"] = 0.0123;
  const json other = parts(report);
  EXPECT_NE(other[0][0], other[0][1]);
  EXPECT_EQ(other[1][0], other[1][1]);
  EXPECT_EQ(other[4]["figures"].size(), same[4]["figures"].size() + 1);
  EXPECT_EQ(other[4]["figures"][other[0][1][1].get<std::size_t>()][7], 0.0123);
}

TEST(Html, OtherDocumentsAreRefused) {
  EXPECT_EQ(refusal({{"schema", "flashproof.report/3"}}),
            "flashproof.report/3: this build reads flashproof.report/4; write the report again with it");
  EXPECT_THAT(refusal({{"schema", "flashproof.ledger/1"}}),
              HasSubstr("no report: its schema is \"flashproof.ledger/1\""));
  EXPECT_THAT(refusal(json::array()), HasSubstr("no report"));
  EXPECT_THAT(refusal({{"schema", 3}}), HasSubstr("no report"));
  json report = document();
  report["records"][1]["figures"]["o"]["max_ulp"] = "much";
  EXPECT_EQ(refusal(report), R"(records[1].figures.o: "max_ulp" must be a number, "inf", "-inf" or "nan")");
  report = document();
  report["records"][0]["cases"] = -1;
  EXPECT_EQ(refusal(report), R"(records[0]: "cases" must be an integer, 0 or more)");
  report = document();
  report["records"][1]["heat"]["cells"] = {"01", "0"};
  EXPECT_THAT(refusal(report), HasSubstr("records[1].heat: \"cells\" must be"));
  report = document();
  report["records"][0]["profile"]["length"][0].erase(3);
  EXPECT_EQ(refusal(report), "records[0].profile.length: a point must be [at, cases, max_ratio, max_ulp]");
  report = document();
  report["records"] = 7;
  EXPECT_EQ(refusal(report), R"("records" must be an array)");
  EXPECT_EQ(refusal(document()), "");
}

TEST(Html, ExtremeNumbersAreShown) {
  for (const double ratio : {1e300, -1e300, 5e-324}) {
    json report = document();
    json& r = report["records"][0];
    r["max_ratio"] = ratio;
    r["terms"]["weights"] = ratio;
    r["figures"]["o"]["ulp_octaves"] = {{"-1100", 1}, {"1100", 18446744073709551615U}};
    for (json& points : r["profile"]) points[0] = json::array({ratio, 1, ratio, ratio});
    EXPECT_THAT(html_text(report), HasSubstr("</html>"));
  }
}

TEST(Html, AnEmptyReportIsAPage) {
  EXPECT_THAT(html_text({{"schema", "flashproof.report/4"}}), HasSubstr("No hardened kernel was run"));
}

class ReportFile : public testing::Test {
 protected:
  std::filesystem::path path = testing::TempDir() + "flashproof-html-test.json";
  ~ReportFile() override {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::string complaint(const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
    try {
      read_report_file(path);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(ReportFile, SaysWhatIsWrongInOneLine) {
  const std::string text = document().dump();
  EXPECT_EQ(complaint(text), "");
  for (const std::string& bad : {text.substr(0, text.size() / 2), std::string("{\"schema\": 1e999}"), std::string(),
                                 std::string(100'000, '['), std::string("{\"schema\": \"\xFF\"}")}) {
    EXPECT_THAT(complaint(bad), HasSubstr(path.string() + ": "));
    EXPECT_THAT(complaint(bad), Not(HasSubstr("\n")));
  }
  EXPECT_THAT(complaint(text.substr(0, 100)), HasSubstr("no JSON at byte 101 of 100: the file is truncated"));
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/3"})"),
              HasSubstr("flashproof.report/3: this build reads flashproof.report/4"));
  // What recursion could not survive is refused while it is read, and so is what a parser would drop silently.
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/4", "bench": )" + deep + "}"),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/4", "runs": [], "runs": []})"),
              HasSubstr("\"runs\" is there twice in one object"));
  EXPECT_THROW(read_report_file(testing::TempDir()), UsageError);
  EXPECT_THROW(read_report_file(testing::TempDir() + "flashproof-no-such-file"), UsageError);
}

}  // namespace
}  // namespace flashproof
