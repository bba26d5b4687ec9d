#include "reports/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/broken/fault.h"
#include "properties/laws/law.h"
#include "reference/problem/error.h"
#include "reports/report_fixture.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "flashproof-report-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

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

TEST(ReportJson, has_every_field_of_the_schema_and_spells_non_finite_numbers) {
  const ReportFixture f;
  const auto json = nlohmann::json::parse(json_text(f.report));
  EXPECT_EQ(json["schema"], "flashproof.report/2");
  EXPECT_EQ(json["environment"]["seed"], 5);
  EXPECT_EQ(json["environment"]["partial"], false);
  EXPECT_TRUE(json.contains("timing"));
  ASSERT_EQ(json["records"].size(), 3U);
  for (const auto& record : json["records"]) {
    for (const char* field : {"kernel", "problem",     "form",   "format",   "executor", "math",   "family",
                              "cases",  "verdict",     "counts", "failures", "max_ulp",  "rmse",   "max_ratio",
                              "terms",  "lse_max_abs", "laws",   "witness",  "figures",  "domain", "refined"}) {
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
  EXPECT_EQ(failing["witness"]["case"], "softmax:normal:5:format=f32");
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
  EXPECT_THAT(text, HasSubstr("**FAIL class**"));
  EXPECT_THAT(text, HasSubstr("## Seeded faults"));
  EXPECT_THAT(text, Not(HasSubstr("## Findings in hardened")));
}

/// Far more failing kernels, formats and families than there are.
TEST(ReportMarkdown, a_large_report_stays_below_the_limit_and_says_what_is_missing) {
  ReportFixture f;
  const Record hardened = f.report.result.records[1], published = f.report.result.records[2];
  std::vector<Record>& records = f.report.result.records;
  const std::string detail(300, '|');
  for (int family = 0; family < 200; ++family) {
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
  f.report.environment.command_line = std::string(200'000, 'x');
  const std::string text = markdown_text(f.report);
  EXPECT_LE(text.size(), kMarkdownLimit);
  EXPECT_GT(text.size(), kMarkdownLimit / 2);
  for (const char* part :
       {"are left out to keep this file short; report.json has them all.", "## Kernels",
        "| f32,f16,bf16 | cpu | `family_000` |", "## Findings in hardened", "## Seeded faults", "## Contracts"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(ReportTable, has_the_matrix_the_kernels_and_the_replay_lines_and_no_colour_unless_asked) {
  const ReportFixture f;
  const std::string text = table_text(f.report, 120, false);
  EXPECT_THAT(text, HasSubstr("odd_family"));
  EXPECT_THAT(text, HasSubstr("FAIL class"));
  EXPECT_THAT(text, HasSubstr("pass 0.50"));
  EXPECT_THAT(text, HasSubstr("odd_family f32: 1 of 1 cases, class_mismatch   softmax:normal:5\n"));
  EXPECT_THAT(text, HasSubstr(("softmax.broken.no_guard f32 cpu: rejected by " + std::string(judging_laws()[0].name) +
                               " in 1 of 1 cases")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(table_text(f.report, 120, true), HasSubstr("\033[31m"));
}

TEST(RequireWritable, makes_the_directory_and_leaves_nothing_in_it) {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "file";
  std::ofstream(file) << "x";
  EXPECT_THROW(require_writable(file / "below", "--out"), InfrastructureError);
  EXPECT_THROW(require_writable(file, "--out"), InfrastructureError);
  require_writable(folder.path / "new" / "nested", "--out");
  EXPECT_TRUE(fs::is_empty(folder.path / "new" / "nested"));
}

TEST(ListJson, parses_and_names_every_kernel) {
  const auto json = nlohmann::json::parse(list_json("kernels"));
  ASSERT_EQ(json.size(), kernels().size() + backward_kernels().size() - seeded_faults().size());
  for (const auto& kernel : json) EXPECT_NE(kernel["form"], "broken") << kernel["id"];
  EXPECT_FALSE(nlohmann::json::parse(list_json("families")).empty());
  EXPECT_FALSE(nlohmann::json::parse(list_json("laws")).empty());
}

}  // namespace
}  // namespace flashproof
