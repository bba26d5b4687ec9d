// render as a program.
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class Render : public Cli {
 protected:
  /// Of a few cases; also what `report` itself made the page.
  void report() {
    ASSERT_EQ(run("report --quick --kernel softmax.safe.published --family normal --format f32 --out ."), 0) << err;
  }
};

TEST_F(Render, WritesThePageBesideTheReport) {
  report();
  const std::string page = read_file(folder / "report.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  fs::remove(folder / "report.html");
  ASSERT_EQ(run("render report.json"), 0) << err;
  EXPECT_EQ(out, "");
  EXPECT_EQ(read_file(folder / "report.html"), page);
  ASSERT_EQ(run("render report.json --out other.html"), 0) << err;
  EXPECT_EQ(read_file(folder / "other.html"), page);
}

TEST_F(Render, RefusesWhatIsNoReport) {
  report();
  const std::string good = read_file(folder / "report.json");
  const std::pair<std::string, const char*> kBad[] = {
      {R"({"schema": "flashproof.report/4", "records": []})", "legal is \"flashproof.report/5\""},
      {R"({"schema": "flashproof.ledger/1"})", "schema \"flashproof.ledger/1\""},
      {good.substr(0, good.size() / 2), "truncated"},
      {std::string(good).replace(good.find("\"heat\":null"), 11, "\"heat\":[\"<b>\"]"), "/records/0/heat"},
      {"", "no JSON"},
  };
  for (const auto& [text, complaint] : kBad) {
    write_file(folder / "bad.json", text);
    write_file(folder / "bad.html", "as it was");
    EXPECT_EQ(run("render bad.json"), 2) << text;
    EXPECT_THAT(err, HasSubstr("bad.json: "));
    EXPECT_THAT(err, HasSubstr(complaint));
    expect_one_line_complaint();
    EXPECT_EQ(read_file(folder / "bad.html"), "as it was");
  }
  for (const char* arguments : {"render", "render none.json", "render .", "render report.json --out report.json",
                                "render report.json --out .", "render /dev/zero"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    expect_one_line_complaint();
  }
  EXPECT_EQ(read_file(folder / "report.json"), good);
}

}  // namespace
}  // namespace flashproof
