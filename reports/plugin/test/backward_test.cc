// Kernels of the gradient behind the C ABI: a right one passes having decided every output, and each wrong one is a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/load.h"
#include "reports/plugin/block.h"
#include "reports/plugin/check.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

PluginReport check(const std::string& name, std::vector<std::string> families = {},
                   std::vector<std::string> laws = {}) {
  forbid_tracing();
  static const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "attention_backward.so");
  PluginCheck options;
  options.kernels = {"attention_backward." + name + ".test"};
  options.families = std::move(families);
  options.laws = std::move(laws);
  options.jobs = 2;
  return check_plugin(plugin, options);
}

TEST(GradientPlugin, a_right_kernel_passes_and_has_decided_every_output) {
  const PluginReport report = check("right");
  EXPECT_FALSE(report.partial) << report.failure;
  for (const PluginResult& r : report.results) {
    EXPECT_FALSE(r.failure) << r.law << ": " << r.failure->verdict.detail << " " << to_string(r.failure->spec);
  }
  ASSERT_EQ(report.outcomes.size(), 1U);
  const PluginOutcome& outcome = report.outcomes.front();
  EXPECT_THAT(outcome.undecided, testing::IsEmpty());
  EXPECT_THAT(outcome.narrow, "");
  for (const Part part : kGradientParts)
    EXPECT_GT(outcome.power.parts[static_cast<std::size_t>(part)].share(), 0.5) << name(part);
}

/// A declaration beyond whose domain nearly every row lies excuses any answer.
TEST(GradientPlugin, a_declaration_that_leaves_most_families_out_is_a_finding_that_names_its_field) {
  const PluginReport report = check("excused", {}, {"within_bound"});
  ASSERT_EQ(report.outcomes.size(), 1U) << report.failure;
  EXPECT_THAT(report.outcomes.front().narrow, HasSubstr("\"dot\": "));
  EXPECT_THAT(report.outcomes.front().narrow, HasSubstr("out of the domain that is declared, where NaN would pass"));
  EXPECT_TRUE(report.found());
}

// A deterministic kernel that is wrong where there is one key: of two keys one alone is not what it is in the whole.
TEST(GradientPlugin, a_part_that_differs_alone_is_not_told_as_a_second_run) {
  const PluginReport report = check("one_key", {"alibi", "chunk_order", "duplicate_maxima"});
  const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "attention_backward.so");
  std::string told;
  for (const CauseEntry& cause : plugin_block(report, plugin, "flashproof").causes) told += cause.sentence + "\n";
  EXPECT_THAT(told, HasSubstr("alone against the whole"));
  EXPECT_THAT(told, testing::Not(HasSubstr("bits again")));
}

class WrongGradient : public testing::TestWithParam<const char*> {};

TEST_P(WrongGradient, is_a_finding) {
  const PluginReport report = check(GetParam(), {"alibi", "normal"});
  EXPECT_FALSE(report.partial) << report.failure;
  EXPECT_TRUE(report.found());
}

INSTANTIATE_TEST_SUITE_P(All, WrongGradient,
                         testing::Values("no_delta", "no_causal", "last_head", "no_scale", "zeros", "last_key",
                                         "no_alibi", "recomputed", "writes_o"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace flashproof
