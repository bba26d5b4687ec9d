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

/// Both forms are one report: what is made of them is the same, and each is made of the other.
TEST_F(Render, SpellsAReportOut) {
  report();
  const std::string page = read_file(folder / "report.html");
  const json full = spelled_out("report.json"), packed = json::parse(read_file(folder / "report.json"));
  EXPECT_EQ(full["schema"], "flashproof.report/5");
  EXPECT_GT(full["records"][0]["figures"]["o"]["elements"], 0);
  EXPECT_EQ(full["records"].size(), packed["records"].size());
  ASSERT_EQ(run("render spelled_out.json --out again.html"), 0) << err;
  EXPECT_EQ(read_file(folder / "again.html"), page);
  ASSERT_EQ(run("merge spelled_out.json --out merged"), 0) << err;
  json merged = json::parse(read_file(folder / "merged/report.json"));
  EXPECT_EQ(merged, packed);
  // 5 MB for the 7,700 records of a default report, of which many are alike.
  EXPECT_LT(packed["records"][0].dump().size(), 250U);
}

TEST_F(Render, RefusesWhatIsNoReport) {
  report();
  const std::string good = read_file(folder / "report.json"), full = spelled_out("report.json").dump();
  const std::pair<std::string, const char*> kBad[] = {
      {R"({"schema": "flashproof.report/4", "records": []})", "legal is \"flashproof.report/6\""},
      {R"({"schema": "flashproof.ledger/1"})", "schema \"flashproof.ledger/1\""},
      {good.substr(0, good.size() / 2), "truncated"},
      {std::string(full).replace(full.find("\"heat\":null"), 11, "\"heat\":[\"<b>\"]"), "/records/0/heat"},
      {std::string(good).replace(good.find("\"verdict\":\"pass\""), 16, "\"verdict\":\"fail\""), "/records/0/verdict"},
      {std::string(good).replace(good.find("\"state\": \"") + 20, 1, "!"), "/state: no base64"},
      {std::string(good).replace(good.find("\"records\": ["), 12, "\"records\": [{},"), "the 1 records of state"},
      {"", "no JSON"},
  };
  for (const auto& [text, complaint] : kBad) {
    write_file(folder / "bad.json", text);
    write_file(folder / "bad.html", "as it was");
    EXPECT_EQ(run("render bad.json"), 2) << text;
    EXPECT_THAT(err, HasSubstr("bad.json: "));
    EXPECT_THAT(err, HasSubstr(complaint));
    expect_one_line_complaint();
    EXPECT_TRUE(read_file(folder / "bad.html") == "as it was");
  }
  for (const char* arguments :
       {"render", "render none.json", "render .", "render report.json --out report.json", "render report.json --out .",
        "render report.json --json report.json", "render report.json --json .", "render /dev/zero"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    expect_one_line_complaint();
  }
  EXPECT_EQ(read_file(folder / "report.json"), good);
}

}  // namespace
}  // namespace flashproof
