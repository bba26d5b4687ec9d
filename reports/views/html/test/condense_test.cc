// The data of the page for its script.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/views/html/parts.h"
#include "reports/views/html/test/html_fixture.h"

namespace flashproof {
namespace {

using nlohmann::json;

TEST(Html, DataIsJson) {
  const std::string text = html::condensed(page_report());
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  const json data = json::parse(text);
  EXPECT_EQ(data["rows"].size(), 2U);
  EXPECT_EQ(data["fields"].size(), data["rows"][0].size());
}

// What records share stands in the page once; what differs in one digit that is shown does not.
TEST(Html, EqualPartsOfRecordsAreStoredOnce) {
  Report report = page_report();
  Record twin = report.result.records[0];
  twin.family = "twin";
  report.result.records.push_back(twin);
  const auto parts = [](const Report& of) {
    const json data = json::parse(html::condensed(of));
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
  EXPECT_EQ(same[4], parts(page_report())[4]);

  report.result.records.back().o.max_abs = 0.0123;
  const json other = parts(report);
  EXPECT_NE(other[0][0], other[0][1]);
  EXPECT_EQ(other[1][0], other[1][1]);
  EXPECT_EQ(other[4]["figures"].size(), same[4]["figures"].size() + 1);
  EXPECT_EQ(other[4]["figures"][other[0][1][1].get<std::size_t>()][7], 0.0123);
}

}  // namespace
}  // namespace flashproof
