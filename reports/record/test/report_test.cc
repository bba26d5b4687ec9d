#include "reports/record/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/broken/fault.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"
#include "reports/record/test/report_fixture.h"
#include "reports/views/junit/junit.h"
#include "reports/views/terminal/matrix.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// No kernel and no case at hand is inconclusive at 4,096 bits: a record stands in for one.
TEST(NightlyReport, what_stays_open_is_a_finding_and_is_said) {
  ReportFixture f;
  auto& records = f.report.result.records;
  std::erase_if(records, [&](const Record& r) { return r.kernel == &f.broken || r.kernel == &f.published; });
  ASSERT_FALSE(has_finding(records, true));
  EXPECT_EQ(open_line(records, true), "");
  constexpr auto kOpen = static_cast<std::size_t>(VerdictKind::inconclusive);
  // One element of o in a case that failed for another reason, in a kernel that is expected to fail.
  Record open;
  open.kernel = &f.broken;
  open.family = "odd_family";
  open.cases = 1;
  open.by_case[static_cast<std::size_t>(VerdictKind::fail)] = 1;
  open.o.verdicts[kOpen] = 1;
  records.push_back(open);
  EXPECT_FALSE(has_finding(records, false));
  EXPECT_TRUE(has_finding(records, true));
  EXPECT_THAT(open_line(records, false), HasSubstr("1 elements, 0 runs.\n"));
  EXPECT_THAT(open_line(records, true), HasSubstr("1 elements, 0 runs: a nightly run fails for it"));
  // A whole run, and lse.
  records.back().o.verdicts[kOpen] = 0;
  EXPECT_FALSE(has_finding(records, true));
  records.back().lse.verdicts[kOpen] = 2;
  EXPECT_TRUE(has_finding(records, true));
  records.back().lse.verdicts[kOpen] = 0;
  records.back().by_case[kOpen] = 1;
  EXPECT_TRUE(has_finding(records, true));
  EXPECT_FALSE(has_finding(records, false));
}

/// A record of a sweep in which `asked` cases were refused or had no bound.
Record unjudged_record(const Kernel& kernel, const std::string& family, Asked asked) {
  Record record;
  record.kernel = &kernel;
  record.family = family;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CaseResult result = not_judged(0, VerdictKind::unsupported, Failure::none, "not today", asked);
    result.seed = seed;
    record.add(CaseResult::deserialize(result.serialize()));
  }
  return record;
}

TEST(UndecidedRuns, a_kernel_of_which_no_case_was_judged_is_no_pass) {
  const ReportFixture f;
  const auto why = [&](Asked asked) {
    const std::vector<Undecided> list =
        undecided_of(std::vector{unjudged_record(f.hardened, "normal", asked)}, Kernels::hardened);
    return list.empty() ? std::string() : list.front().why;
  };
  EXPECT_EQ(why(Asked::refused), "no case was judged: 3 were refused when the kernel was called");
  EXPECT_THAT(why(Asked::yes), HasSubstr("no case was judged: none"));
  EXPECT_EQ(why(Asked::no), "") << "of one family that it does not take there was nothing to ask";
  EXPECT_TRUE(
      undecided_of(std::vector{unjudged_record(f.published, "normal", Asked::refused)}, Kernels::hardened).empty());
}

TEST(UndecidedRuns, a_kernel_that_takes_no_family_is_no_pass) {
  const ReportFixture f;
  std::vector<Record> records;
  for (const Family& family : families()) {
    if (family.serves(ProblemKind::softmax))
      records.push_back(unjudged_record(f.hardened, std::string(family.name), Asked::no));
  }
  const std::vector<Undecided> list = undecided_of(records, Kernels::hardened);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_THAT(list.front().why, HasSubstr("no case was judged: the kernel takes none of "));
}

/// Those refused weigh as much as those judged: the family is open, and with it the run.
TEST(UndecidedRuns, a_family_of_which_most_was_refused_is_not_decided) {
  const ReportFixture f;
  Record record = unjudged_record(f.hardened, "normal", Asked::refused);
  CaseResult judged;
  judged.executed = true;
  judged.asked = Asked::yes;
  judged.seed = 7;
  judged.power.of(Part::o).counts[static_cast<std::size_t>(Decided::yes)] = 10;
  record.add(judged);
  const std::vector<Undecided> list = undecided_of(std::vector{record}, Kernels::hardened);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_THAT(list.front().why, HasSubstr("3 were refused when the kernel was called: normal 3 of 4"));
}

TEST(ReportJson, has_every_field_of_the_schema_and_spells_non_finite_numbers) {
  const ReportFixture f;
  const auto json = nlohmann::json::parse(json_text(f.report, Spelled::out));
  EXPECT_EQ(json["schema"], "flashproof.report/5");
  EXPECT_EQ(json["runs"][0]["seed"], 5);
  EXPECT_TRUE(json["runs"][0]["partial"].is_null());
  EXPECT_TRUE(json["runs"][0].contains("timing"));
  ASSERT_EQ(json["records"].size(), 3U);
  for (const auto& record : json["records"]) {
    for (const char* field :
         {"kernel",  "problem", "form",     "format",    "executor", "math",    "family",  "cases",
          "verdict", "counts",  "failures", "max_ratio", "terms",    "laws",    "witness", "figures",
          "domain",  "refined", "seeds",    "defect",    "heat",     "profile", "ledger"}) {
      EXPECT_TRUE(record.contains(field)) << field;
    }
  }
  const auto& failing = json["records"][2];
  EXPECT_EQ(failing["form"], "published");
  EXPECT_EQ(failing["math"], "det");
  EXPECT_EQ(failing["verdict"], "fail");
  EXPECT_EQ(failing["max_ratio"], "inf");
  EXPECT_EQ(failing["counts"]["cases"]["fail"], 1);
  EXPECT_EQ(failing["failures"]["cases"]["class_mismatch"], 1);
  EXPECT_EQ(failing["witness"]["computed"], "nan");
  EXPECT_EQ(failing["witness"]["exact"], "-inf");
  EXPECT_EQ(failing["witness"]["case"], "softmax:odd_family:5:format=f32");
  EXPECT_EQ(failing["witness"]["file"], "out/with space.safetensors");
  EXPECT_EQ(failing["terms"]["output"], "inf");
  EXPECT_EQ(failing["terms"]["dominating"], "output");
  EXPECT_EQ(json["records"][1]["max_ratio"], 0.5);
}

TEST(ReportMarkdown, odd_names_break_no_table) {
  const ReportFixture f;
  const std::string text = markdown_text(f.report);
  std::istringstream lines(text);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      columns = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line;
  }
  EXPECT_THAT(text, HasSubstr("\\<b\\> \\| NaN"));
  EXPECT_THAT(text, HasSubstr("**FAIL class inf**"));
  EXPECT_THAT(text, HasSubstr("## Seeded faults"));
  EXPECT_THAT(text, Not(HasSubstr("## Findings in hardened")));
}

/// Far more failing kernels, formats and families than there are.
TEST(ReportMarkdown, a_large_report_stays_below_the_limit_and_says_what_is_missing) {
  ReportFixture f;
  const Record hardened = f.report.result.records[1], published = f.report.result.records[2];
  std::vector<Record>& records = f.report.result.records;
  const std::string detail(300, '|');
  for (int family = 0; family < 1000; ++family) {
    for (Record r : {hardened, published}) {
      for (const Format format : kStorageFormats) {
        r.family = fmt::format("family_{:03}", family);
        r.format = format;
        r.worst->verdict = {VerdictKind::fail, Failure::class_mismatch, detail};
        records.push_back(r);
      }
    }
  }
  f.report.findings.clear();
  for (std::size_t i = 3; i < records.size(); ++i) f.report.findings.push_back({&records[i], "softmax:normal:5", "w"});
  f.report.runs[0].environment.command_line = std::string(200'000, 'x');
  const std::string text = markdown_text(f.report);
  EXPECT_LE(text.size(), kMarkdownLimit);
  // The matrix is the first section; it is cut, never left out.
  const std::size_t matrix = text.find("## Kernel × family"), run = text.find("## The run");
  ASSERT_NE(matrix, std::string::npos);
  ASSERT_NE(run, std::string::npos);
  const std::string first = text.substr(matrix, run - matrix);
  EXPECT_EQ(text.find("\n## ") + 1, matrix);
  EXPECT_THAT(first, HasSubstr("| `family_000` | pass .50 - 100% | **FAIL class inf** |"));
  EXPECT_THAT(first, HasSubstr("of 1001 rows are left out"));
  EXPECT_GT(text.size(), kMarkdownLimit / 2);
  for (const char* part :
       {"are left out to keep this file short; report.json has them all.", "## Kernels",
        "| f32,f16,bf16 | cpu | `family_000` |", "## Findings in hardened", "## Seeded faults", "## Contracts"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(ReportJunit, fails_where_the_exit_code_does_and_nowhere_else) {
  ReportFixture f;
  const auto failures = [&] {
    const std::string xml = junit_text(f.report);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = xml.find("<failure ", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  std::string xml = junit_text(f.report);
  EXPECT_EQ(failures(), 0U);
  EXPECT_FALSE(has_finding(f.report.result.records, false));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"softmax.odd|name.hardened\" name=\"f32/cpu/det/odd_family\"/>"));
  EXPECT_THAT(xml,
              HasSubstr("<skipped message=\"expected of a published kernel: fail(class_mismatch), 1 of 1 cases; "
                        "error/bound inf at o[0] of softmax:odd_family:5:format=f32&#10;&lt;b&gt; | NaN&#10;witness: "
                        "out/with space.safetensors&#10;replay: ./flashproof replay "
                        "softmax:odd_family:5:format=f32 --kernel softmax.odd.published\"/>"));
  EXPECT_THAT(xml, HasSubstr("expected of a broken kernel"));
  // A hardened kernel that fails; one that stays open, which only a nightly run minds.
  Record& hardened = f.report.result.records[1];
  const Record fine = hardened;
  hardened.by_case = {};
  hardened.by_case[static_cast<std::size_t>(VerdictKind::fail)] = 1;
  hardened.worst->verdict = {VerdictKind::fail, Failure::exceeds_bound, "\x01]]>"};
  EXPECT_EQ(failures(), 1U);
  EXPECT_THAT(junit_text(f.report),
              HasSubstr("<failure type=\"exceeds_bound\" message=\"fail(exceeds_bound), 1 of 1 cases"));
  EXPECT_THAT(junit_text(f.report), HasSubstr("?]]&gt;"));
  hardened = fine;
  hardened.by_case = {};
  hardened.by_case[static_cast<std::size_t>(VerdictKind::inconclusive)] = 1;
  EXPECT_EQ(failures(), 0U);
  f.report.runs[0].environment.tier = "nightly";
  EXPECT_EQ(failures(), 1U);
  EXPECT_TRUE(has_finding(f.report.result.records, true));
}

// A merged report's facts come from files: none of them may push the tables out, or be cut inside a character.
TEST(ReportMarkdown, long_facts_leave_room_for_the_tables) {
  ReportFixture f;
  std::string compiler = "g";
  while (compiler.size() < 200'000) compiler += "\xC3\xA9|";  // e with an acute accent
  Environment& e = f.report.runs[0].environment;
  for (std::string* fact : {&e.compiler, &e.cuda_compiler, &e.flags, &e.revision, &e.cpu, &e.gpu, &e.date, &e.profile,
                            &e.command_line, &f.report.runs[0].partial}) {
    *fact = compiler;
  }
  f.report.ledger = compiler;
  f.report.runs.resize(30, f.report.runs[0]);
  const std::string text = markdown_text(f.report);
  EXPECT_LE(text.size(), kMarkdownLimit);
  EXPECT_NO_THROW(static_cast<void>(nlohmann::json(text).dump())) << "no UTF-8";
  for (const char* part : {"## Kernel × family", "## 30 runs", "26 more in report.json", "**30 partial runs in all.**",
                           "## Kernels", "| `odd_family` | pass .50 - 100% |"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ReportMatrix, a_cell_shows_the_worst_of_all_formats) {
  ReportFixture f;
  Record narrow = f.report.result.records[1];
  narrow.format = Format::bf16;
  narrow.o.max_budget = 0.99;
  f.report.result.records.push_back(narrow);
  EXPECT_THAT(table_text(f.report, 120, false), HasSubstr("pass .99 - 100%"));
  EXPECT_THAT(markdown_text(f.report), HasSubstr("| pass .99 - 100% |"));
  EXPECT_EQ(std::string(kMatrixLegend).find("in f32"), std::string::npos);
}

TEST(ReportMatrix, kernels_of_the_gradient_have_cells_too) {
  ReportFixture f;
  EXPECT_THAT(markdown_text(f.report), Not(HasSubstr("### attention_backward")));
  Kernel kernel, fault;
  kernel.id = "attention_backward.odd.hardened";
  fault.id = "attention_backward.broken.odd";
  kernel.form = Form::hardened;
  fault.form = Form::broken;
  kernel.problem = fault.problem = ProblemKind::backward;
  fault.fault = &f.fault;
  for (const Kernel* k : {&kernel, &fault}) {
    CaseResult result;
    result.verdict = {VerdictKind::fail, Failure::exceeds_bound, ""};
    result.laws = {result.verdict};
    result.dk.elements = 4;
    result.dk.max_ratio = 3.25;
    Record record;
    record.kernel = k;
    record.family = "odd_family";
    record.add(result);
    f.report.result.records.push_back(record);
  }
  const std::string text = markdown_text(f.report);
  const std::size_t run = text.find("## The run");
  const std::string first = text.substr(0, run);
  EXPECT_THAT(first, HasSubstr("### attention_backward\n\n| family | `odd`<br>hardened |\n|---|---|\n"
                               "| `odd_family` | **FAIL bound 3.25** |\n"));
  EXPECT_THAT(first,
              HasSubstr("| `odd_family` | pass .50 - 100% | **FAIL class inf** |"));  // forward cells as they were
  EXPECT_THAT(table_text(f.report, 120, false), HasSubstr("FAIL bound 3.25"));
  // A faulty kernel is no column.
  for (const MatrixColumn& column : make_matrix(f.report.result.records).kernels) EXPECT_NE(column.id, fault.id);
  EXPECT_THAT(text, HasSubstr("| dq –, dk 3.25, dv – |"));
  EXPECT_THAT(table_text(f.report, 120, false), HasSubstr("dq –, dk 3.25, dv –"));
}

TEST(ReportMarkdown, a_kernel_has_its_mean_its_bias_and_the_parts_of_its_bound) {
  ReportFixture f;
  Record& r = f.report.result.records[1];
  r.o.finite_elements = 4;
  r.o.ulp_octaves[0] = 2;                        // exact
  r.o.ulp_octaves[1 - 1 - kLeastUlpOctave] = 2;  // [0.5, 1)
  r.worst->element.bound = {1, 2, 3, 4};
  const std::string text = markdown_text(f.report);
  EXPECT_THAT(text, HasSubstr("| max ulp | mean ulp | rmse | bias | error/bound | mostly | weights, numerator, "
                              "denominator, output % |"));
  EXPECT_THAT(text, HasSubstr("| 0.25..0.50 | 0 | "));
  EXPECT_THAT(text, HasSubstr("| o 0.50, lse – | output | 10, 20, 30, 40 |"));
}

TEST(ReportJson, beaten_is_what_the_ledger_would_take_in) {
  ReportFixture f;
  Record& r = f.report.result.records[1];  // 0.5
  const auto beaten = [&] {
    return nlohmann::json::parse(json_text(f.report, Spelled::out))["records"][1]["ledger"]["beaten"];
  };
  r.ledger = 0.4;
  EXPECT_EQ(beaten(), true);
  r.ledger = 0.5 * (1 - 1e-12);  // roundings of two builds
  EXPECT_EQ(beaten(), false);
  r.ledger = 0.4;
  r.by_case = {};
  r.by_case[static_cast<std::size_t>(VerdictKind::inconclusive)] = 1;
  EXPECT_EQ(beaten(), false);
}

TEST(ReportJunit, says_what_ran_and_fails_for_a_run_that_ended_early) {
  ReportFixture f;
  std::string xml = junit_text(f.report);
  EXPECT_THAT(xml, HasSubstr("<property name=\"command_line\" value=\"flashproof report --kernel a|b`c\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"seed\" value=\"5\"/>"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"run\" name=\"complete\"/>"));
  f.report.runs[0].partial = "interrupted <early>";
  xml = junit_text(f.report);
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"run\" name=\"complete\">\n      <failure type=\"partial\" "
                             "message=\"interrupted &lt;early&gt;\">"));
  f.report.runs.push_back(f.report.runs[0]);
  f.report.runs[0].partial = "";
  xml = junit_text(f.report);
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"run 1\" name=\"complete\"/>"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"run 2\" name=\"complete\">"));
}

TEST(ReportTable, has_the_matrix_the_kernels_and_the_replay_lines_and_no_colour_unless_asked) {
  const ReportFixture f;
  const std::string text = table_text(f.report, 120, false);
  EXPECT_THAT(text, HasSubstr("odd_family"));
  EXPECT_THAT(text, HasSubstr("FAIL class inf"));
  EXPECT_THAT(text, HasSubstr("pass .50 - 100%"));
  EXPECT_THAT(text, HasSubstr("odd_family f32: 1 of 1 cases, class_mismatch   softmax:normal:5\n"));
  EXPECT_THAT(text, HasSubstr(("softmax.broken.no_guard f32 cpu: rejected by " + std::string(judging_laws()[0].name) +
                               " in 1 of 1 cases")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(table_text(f.report, 120, true), HasSubstr("\033[31m"));
}

}  // namespace
}  // namespace flashproof
