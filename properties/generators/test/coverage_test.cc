// The families reach every declared hazard in every problem that can have it, over the seeds of the default report; the table
// is printed. Without the families that make a hazard it is not reached: the counters count the hazard and not the weather.
#include "properties/generators/coverage/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kFirstSeed = 1, kLastSeed = 12;
constexpr std::uint64_t kLeast = 6;  // cases with a hazard, of 12 seeds and three formats per family

/// By family.
const std::map<std::string_view, Coverage>& measured() {
  static const std::map<std::string_view, Coverage> all = [] {
    std::map<std::string_view, Coverage> result;
    for (const Family& family : families()) {
      for (const ProblemKind problem : family.problems) {
        for (const char* format : kFormatNames) {
          for (std::uint64_t seed = kFirstSeed; seed <= kLastSeed; ++seed) {
            result[family.name].add(make_case({problem, std::string(family.name), seed, {{"format", format}}}));
          }
        }
      }
    }
    return result;
  }();
  return all;
}

Coverage total_without(std::initializer_list<std::string_view> left_out) {
  Coverage total;
  for (const auto& [name, coverage] : measured()) {
    if (std::ranges::find(left_out, name) == left_out.end()) total += coverage;
  }
  return total;
}

TEST(Coverage, EveryHazardIsReached) {
  const Coverage total = total_without({});
  std::fputs(to_text(total).c_str(), stdout);
  for (const HazardInfo& info : hazards()) {
    for (const ProblemKind problem : info.problems) {
      EXPECT_GE(total.count(problem, info.hazard), kLeast) << info.name << " of " << name(problem);
    }
  }
}

TEST(Coverage, TheListIsInOrderAndNamesAreDistinct) {
  std::map<std::string_view, int> names;
  for (std::size_t h = 0; h < kHazards; ++h) {
    EXPECT_EQ(static_cast<std::size_t>(hazards()[h].hazard), h);
    EXPECT_EQ(++names[hazards()[h].name], 1);
    EXPECT_FALSE(hazards()[h].problems.empty());
  }
}

TEST(Coverage, WithoutItsFamiliesAHazardIsNotReached) {
  struct {
    std::initializer_list<std::string_view> families;
    Hazard hazard;
    ProblemKind problem;
  } const controls[] = {
      {{"cancelling_dot"}, Hazard::cancelling_dot, ProblemKind::attention},
      {{"aliasing"}, Hazard::stride_zero, ProblemKind::merge},
      {{"aliasing"}, Hazard::storage_overlaps, ProblemKind::softmax},
      {{"aliasing"}, Hazard::kv_shared, ProblemKind::attention},
      {{"merge_tree", "unnormalised"}, Hazard::tree_used, ProblemKind::merge},
      {{"unnormalised"}, Hazard::unnormalised_states, ProblemKind::merge},
      {{"overflow_edge", "sum_overflow"}, Hazard::sum_overflow_edge, ProblemKind::softmax},
      {{"special_values", "hidden_specials"}, Hazard::hidden_inf, ProblemKind::attention},
      {{"special_values", "hidden_specials", "sink"}, Hazard::visible_nan, ProblemKind::attention},
      {{"mixed_fp8"}, Hazard::eight_bit_keys, ProblemKind::attention},
      {{"descale", "mixed_fp8"}, Hazard::descaled, ProblemKind::attention},
      {{"sink", "feature_mix", "pairs"}, Hazard::sink_with_empty_first_split, ProblemKind::attention},
      {{"zero_length"}, Hazard::no_rows, ProblemKind::softmax},
  };
  for (const auto& control : controls) {
    EXPECT_GT(total_without({}).count(control.problem, control.hazard), 0U);
    EXPECT_EQ(total_without(control.families).count(control.problem, control.hazard), 0U)
        << hazards()[static_cast<std::size_t>(control.hazard)].name << " of " << name(control.problem);
  }
}

}  // namespace
}  // namespace flashproof
