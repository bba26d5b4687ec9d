#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/broken/fault.h"
#include "kernels/registry.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

TEST(ListJson, parses_and_names_every_kernel) {
  const auto json = nlohmann::json::parse(list_json("kernels"));
  ASSERT_EQ(json.size(), kernels().size() - seeded_faults().size());
  for (const auto& kernel : json) {
    EXPECT_NE(kernel["form"], "broken") << kernel["id"];
    const auto source = kernel["source"].get<std::string>(), problem = kernel["problem"].get<std::string>();
    EXPECT_TRUE(source.starts_with("kernels/" + problem + "/") && source.ends_with(".cu")) << kernel["id"] << source;
  }
  EXPECT_FALSE(nlohmann::json::parse(list_json("families")).empty());
  EXPECT_FALSE(nlohmann::json::parse(list_json("laws")).empty());
}

}  // namespace
}  // namespace flashproof
