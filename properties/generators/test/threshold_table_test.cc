// A default report draws both sides of every threshold of every kernel, in every format that the kernel takes; without the
// family that draws them it does not. The table is printed by `list coverage`.
#include "properties/generators/coverage/threshold_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/registry.h"
#include "kernels/thresholds.h"
#include "properties/generators/glob.h"

namespace flashproof {
namespace {

std::vector<std::string> not_reached(std::string_view left_out) {
  std::vector<std::string> lines;
  for (const ThresholdSides& line : default_thresholds(left_out)) {
    if (!line.reached()) lines.push_back(threshold_text({line}));
  }
  return lines;
}

TEST(Thresholds, BothSidesOfEachAreDrawn) { EXPECT_THAT(not_reached({}), testing::IsEmpty()); }

// What the other families leave: the sizes are drawn because a family draws them, not by luck.
TEST(Thresholds, WithoutTheSizesTheyAreNot) {
  const std::vector<ThresholdSides> without = default_thresholds("sizes");
  EXPECT_GE(2 * std::ranges::count_if(without, [](const ThresholdSides& line) { return !line.reached(); }),
            std::ssize(without));
  for (const ProblemKind problem : kProblemKinds) {
    const std::string prefix = std::string(name(problem)) + ".";
    const auto of_problem = [&](const ThresholdSides& line) { return line.kernel.starts_with(prefix); };
    const auto all = std::ranges::count_if(without, of_problem);
    const auto missing =
        std::ranges::count_if(without, [&](const ThresholdSides& line) { return of_problem(line) && !line.reached(); });
    EXPECT_GE(4 * missing, all) << prefix << ": " << missing << " of " << all;
    EXPECT_GT(all, 0) << prefix;
  }
}

// A new kernel says its own.
TEST(Thresholds, EveryKernelHasOne) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.form == Form::broken) continue;
    EXPECT_TRUE(std::ranges::any_of(thresholds(), [&](const Threshold& t) { return glob_match(t.kernels, kernel.id); }))
        << kernel.id;
  }
  for (const Threshold& threshold : thresholds()) {
    EXPECT_TRUE(std::ranges::any_of(kernels(), [&](const Kernel& k) { return glob_match(threshold.kernels, k.id); }))
        << threshold.kernels;
  }
}

}  // namespace
}  // namespace flashproof
