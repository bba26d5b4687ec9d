// render as a program.
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

const std::string kSmallest = R"({"schema": "flashproof.report/5", "runs": [], "records": []})";

TEST_F(Cli, RenderWritesThePageBesideTheReport) {
  write_file(folder / "report.json", kSmallest);
  ASSERT_EQ(run("render report.json"), 0) << err;
  EXPECT_EQ(out, "");
  const std::string page = read_file(folder / "report.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  ASSERT_EQ(run("render report.json --out other.html"), 0) << err;
  EXPECT_EQ(read_file(folder / "other.html"), page);
}

TEST_F(Cli, RenderRefusesWhatIsNoReport) {
  const std::pair<const char*, const char*> kBad[] = {
      {R"({"schema": "flashproof.report/4", "records": []})",
       "flashproof.report/4: this build reads flashproof.report/5"},
      {R"({"schema": "flashproof.ledger/1"})", "no report"},
      {R"({"schema": "flashproof.report/5", "records": [)", "truncated"},
      {R"({"schema": "flashproof.report/5", "records": [{"heat": {"cells": ["<b>"]}}]})",
       "/records/0 has no \"counts\""},
      {"", "no JSON"},
  };
  for (const auto& [text, complaint] : kBad) {
    write_file(folder / "report.json", text);
    write_file(folder / "report.html", "as it was");
    EXPECT_EQ(run("render report.json"), 2) << text;
    EXPECT_THAT(err, HasSubstr("report.json: "));
    EXPECT_THAT(err, HasSubstr(complaint));
    expect_one_line_complaint();
    EXPECT_EQ(read_file(folder / "report.html"), "as it was");
  }
  write_file(folder / "report.json", kSmallest);
  for (const char* arguments : {"render", "render none.json", "render .", "render report.json --out report.json",
                                "render report.json --out .", "render /dev/zero"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    expect_one_line_complaint();
  }
  EXPECT_EQ(read_file(folder / "report.json"), kSmallest);
}

}  // namespace
}  // namespace flashproof
