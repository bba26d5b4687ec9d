// What the page is not made of, or hardly: other documents, numbers at the ends, nothing.
#include "reports/views/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "reports/views/html/parts.h"
#include "reports/views/html/report_file.h"
#include "reports/views/html/test/html_fixture.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

TEST(Html, OtherDocumentsAreRefused) {
  EXPECT_EQ(refusal({{"schema", "flashproof.report/4"}}),
            "flashproof.report/4: this build reads flashproof.report/5; write the report again with it");
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
  EXPECT_THAT(html_text({{"schema", "flashproof.report/5"}}), HasSubstr("No hardened kernel was run"));
}

class ReportFile : public testing::Test {
 protected:
  std::filesystem::path path = testing::TempDir() + "flashproof-html-" + std::to_string(::getpid()) + ".json";
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
  EXPECT_THAT(complaint(text.substr(0, 100)),
              HasSubstr("no JSON at its end, line 1, column 101 (100 bytes): the file is truncated"));
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/4"})"),
              HasSubstr("flashproof.report/4: this build reads flashproof.report/5"));
  // What recursion could not survive is refused while it is read, and so is what a parser would drop silently.
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/5", "bench": )" + deep + "}"),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(complaint(R"({"schema": "flashproof.report/5", "runs": [], "runs": []})"),
              HasSubstr("\"runs\" is there twice in one object"));
  EXPECT_THROW(read_report_file(testing::TempDir()), UsageError);
  EXPECT_THROW(read_report_file(testing::TempDir() + "flashproof-no-such-file"), UsageError);
}

}  // namespace
}  // namespace flashproof
