// The page as text; page_test.py looks at it in a browser.
#include "reports/views/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reports/views/html/parts.h"
#include "reports/views/html/test/html_fixture.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(Html, TheMatrixHasTheGradientsKernels) {
  json report = document();
  EXPECT_THAT(html_text(report), Not(HasSubstr("<caption>attention_backward: kernels down")));
  json gradient = record("attention_backward.fused.hardened", "hardened", "normal", "");
  gradient["problem"] = "attention_backward";
  gradient["figures"] = {{"dq", figure(0.3)}, {"dk", figure(0.7)}, {"dv", figure(0.2)}};
  gradient["max_ratio"] = 0.7;
  report["records"].push_back(gradient);
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<caption>attention_backward: kernels down"));
  EXPECT_THAT(page, HasSubstr("title=\"attention_backward.fused.hardened\">fused</th><td class=\"r3\">.70</td></tr>"));
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
    if (value.is_string() && value != "flashproof.report/5" && value != "inf" && value != "nan" && value != "01X." &&
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

}  // namespace
}  // namespace flashproof
