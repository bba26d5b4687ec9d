// The page as text; page_test.py looks at it in a browser.
#include "reports/views/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/views/html/parts.h"
#include "reports/views/html/test/html_fixture.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, SameReportSameBytes) { EXPECT_EQ(html_text(page_report()), html_text(page_report())); }

TEST(Html, LoadsNothing) {
  const std::string page = html_text(page_report());
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
  Report report = page_report();
  std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<strong>Passes.</strong> 1 hardened kernel is right within its bound"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"partial\"")));
  report.result.records.push_back(page_record("softmax.safe.hardened", "huge", Failure::silently_wrong));
  report.runs[0].partial = "interrupted";
  page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<strong>Fails.</strong> 1 cause of failure, in 1 of 1 hardened kernel"));
  EXPECT_THAT(page, HasSubstr("<strong>Partial report:</strong> interrupted"));
  report.runs[0].partial = "";
  report.result.records.clear();
  EXPECT_THAT(html_text(report), HasSubstr("<strong>No verdict.</strong> only published"));
}

TEST(Html, PassesOnlyWhatHasRunToItsEndAndWasDecided) {
  Report report = page_report();
  report.runs[0].partial = "interrupted";
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Partial.</strong> interrupted"));
  report.runs[0].partial = "";
  // Open cases or elements are no finding by day; a nightly run fails for them, whatever the kernel.
  constexpr auto kOpen = static_cast<std::size_t>(VerdictKind::inconclusive);
  const auto opened = [&](int which, const char* tier) {
    Report open = report;
    Record& r = open.result.records[which == 0 ? 0 : 1];
    (which < 2 ? r.by_case[kOpen] : r.o.verdicts[kOpen]) = 1;
    open.runs[0].environment.tier = tier;
    return html_text(open);
  };
  for (const int which : {0, 1, 2}) {
    EXPECT_THAT(opened(which, "quick"), HasSubstr("<strong>Passes.</strong>")) << which;
    EXPECT_THAT(opened(which, "nightly"), HasSubstr("<strong>Fails.</strong> what no tier of the oracle decided"))
        << which;
  }
  report.runs[0].environment.tier = "nightly";
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Passes.</strong>"));
  report.runs[0].environment.tier = "quick";
  KindCounts& cases = report.result.records[0].by_case;
  std::swap(cases[kOpen], cases[static_cast<std::size_t>(VerdictKind::pass)]);
  EXPECT_THAT(html_text(report), HasSubstr("<strong>Undecided.</strong> nothing failed, and no case of"));
}

TEST(Html, TheRowOfAFindingShowsItsWorstFormat) {
  Report report = page_report();
  Record other = report.result.records[1];
  report.result.records[1].o.max_ratio = 2;
  other.format = Format::bf16;
  other.o.max_ratio = NAN;
  report.result.records.push_back(other);
  const std::string page = html_text(report);
  EXPECT_THAT(page.substr(page.find("<tr id=\"f1\">"), 600), HasSubstr("replay softmax:huge:3:format=bf16"));
}

TEST(Html, WithoutScriptsThereAreTablesAndPlots) {
  const std::string page = html_text(page_report());
  EXPECT_THAT(page, HasSubstr("<tr data-kernel=\"softmax.safe.hardened\"><th scope=\"row\" "
                              "title=\"softmax.safe.hardened\">safe</th><td></td><td class=\"r2\">.43</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"class\"><a href=\"#f1\">NaN</a></td>"));
  EXPECT_THAT(page, HasSubstr("<tr id=\"f1\"><th scope=\"row\" class=\"id\">softmax.naive.published</th>"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "<code class=\"cmd\">./flashproof replay softmax:huge:3:format=f32 --kernel softmax.naive.published</code>"));
  const std::string plots = page.substr(page.find("<noscript>"), page.find("</noscript>") - page.find("<noscript>"));
  for (const char* plot : {"Error against length", "Error against magnitude", "Error against merges",
                           "How far off elements are", "Who uses the bound", "softmax.naive.published f32 huge"}) {
    EXPECT_THAT(plots, HasSubstr(plot));
  }
  EXPECT_THAT(plots, HasSubstr("<pre>01X.\nNNIF\n</pre>"));
}

TEST(Html, ACellShowsTheWorstOfAllFormatsAndHowFarOffItFails) {
  Report report = page_report();
  Record narrow = report.result.records[0];
  narrow.format = Format::bf16;
  narrow.o.max_budget = 0.99;
  report.result.records.push_back(narrow);
  report.result.records[1].o.max_ratio = 3.25;
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<td class=\"r4\">.99</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"class\"><a href=\"#f1\">NaN 3.25</a></td>"));
  EXPECT_THAT(page, Not(HasSubstr("f32 where it ran")));
}

TEST(Html, TheMatrixHasTheGradientsKernels) {
  Report report = page_report();
  EXPECT_THAT(html_text(report), Not(HasSubstr("<caption>attention_backward: kernels down")));
  Record gradient = page_record("attention_backward.fused.hardened", "normal");
  gradient.dk.max_budget = 0.7;
  report.result.records.push_back(gradient);
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("<caption>attention_backward: kernels down"));
  EXPECT_THAT(page, HasSubstr("title=\"attention_backward.fused.hardened\">fused</th><td class=\"r3\">.70</td></tr>"));
}

TEST(Html, TheKernelTableHasMeanBiasAndTheFourTerms) {
  Report report = page_report();
  report.result.records.pop_back();
  const std::string page = html_text(report);
  // 10 exact, 50 in [1, 2), 4 in [2, 4) ulp.
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">2.50</td><td class=\"n\">0.91..1.81</td><td class=\"n\">2e-8</td>"
                              "<td class=\"n\">1e-3</td><td class=\"n\">0.43</td><td>output</td>"
                              "<td class=\"n\">10, 20, 30, 40</td>"));
}

TEST(Html, ExtremeNumbersAreShown) {
  for (const double extreme : {1e300, 5e-324}) {
    Report report = page_report();
    Record& r = report.result.records[0];
    r.o.max_ratio = r.worst->element.bound.weights = extreme;
    r.o.ulp_octaves.back() = std::numeric_limits<std::uint64_t>::max();
    for (const auto axis : html::kAxes) r.profile.*axis = {{octave_of(extreme), {1, extreme, extreme}}};
    EXPECT_THAT(html_text(report), HasSubstr("</html>"));
  }
}

TEST(Html, AnEmptyReportIsAPage) { EXPECT_THAT(html_text({}), HasSubstr("<strong>No verdict.</strong>")); }

TEST(Html, EveryStringIsText) {
  const std::string evil = "<img src=x onerror=\"alert(1)\">'\"&</script><!--\xE2\x80\xA8\x01\n\xE2\x80\xAE";
  // Into every string that a report can hold.
  Report report = page_report();
  for (Record& r : report.result.records) {
    r.kernel = &made_kernel("softmax." + evil + std::string(name(r.kernel->form)));
    r.family += evil;
    r.laws[evil] = r.by_case;
    std::ranges::reverse(r.laws[evil]);
    r.worst->family = r.family;
    r.worst->verdict.detail += evil;
    r.worst->file = evil;
    r.domain.rows = 1;
    r.domain.by_name[evil].nearest = {"", 1, 2};
    r.ledger = 0.5;
    r.o.investigate = 1;
    r.o.probable_witness.ratio = 2;
  }
  for (std::string Environment::* fact :
       {&Environment::compiler, &Environment::cuda_compiler, &Environment::flags, &Environment::revision,
        &Environment::cpu, &Environment::gpu, &Environment::date, &Environment::command_line, &Environment::tier,
        &Environment::executors, &Environment::math, &Environment::profile}) {
    report.runs[0].environment.*fact = evil;
  }
  report.runs[0].partial = evil;
  for (const Record& r : report.result.records) {
    report.blamed[blame_key(r, Part::o, 0, 0)] = {evil, evil};
  }
  report.faults =
      nlohmann::json{{"faults",
                      {{{"number", evil},
                        {"id", evil},
                        {"defect", evil},
                        {"laws", {{evil, {{"rejects", true}, {"executed", 1}, {"case", evil}, {"detail", evil}}}}}}}},
                     {"partial", true},
                     {"partial_reason", evil},
                     {"survivors", 0}}
          .dump();
  report.bench = nlohmann::json{{"context", {{"date", evil}}},
                                {"benchmarks", {{{"name", evil}, {"time_unit", evil}, {"real_time", 1.0}}}}}
                     .dump();
  const std::string page = html_text(report);
  EXPECT_THAT(page, HasSubstr("To investigate"));
  EXPECT_THAT(page, HasSubstr("onerror"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=\"")));
  EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  const std::string clean = html_text(page_report());
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
