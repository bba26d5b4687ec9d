// Every sentinel and every threshold of a lazy rescale is met closely, from both sides.
#include <gtest/gtest.h>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

struct Sides {
  int below = 0, at_or_above = 0, rows_below = 0, rows_above = 0;
};

TEST(EdgesHazard, EverySentinelFromBothSides) {
  for (const ProblemKind problem : find_family("sentinels")->problems) {
    std::array<Sides, std::size(kSentinels)> sides{};
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      for (const char* format : kFormatNames) {
        const Case made = make_case({problem, "sentinels", seed, {{"format", format}}});
        for (const ScoreRow& row : rows_of(made)) {
          for (std::size_t s = 0; s < sides.size(); ++s) {
            bool low = false, high = false, other = false;
            for (const double score : row.score) {
              const bool close = std::abs(score - kSentinels[s]) <= 0.01 * std::abs(kSentinels[s]);
              low |= close && score < kSentinels[s];
              high |= close && score >= kSentinels[s];
              other |= !close && std::isfinite(score);
            }
            sides[s].below += low;
            sides[s].at_or_above += high;
            sides[s].rows_below += low && !high && !other;
            sides[s].rows_above += high && !low && !other;
          }
        }
      }
    }
    for (std::size_t s = 0; s < sides.size(); ++s) {
      SCOPED_TRACE(testing::Message() << name(problem) << " " << kSentinels[s]);
      EXPECT_GE(sides[s].at_or_above, 3);
      EXPECT_GE(sides[s].rows_above, 1);
      if (s + 1 == sides.size()) continue;  // nothing finite is below the lowest f32
      EXPECT_GE(sides[s].below, 3);
      EXPECT_GE(sides[s].rows_below, 1);
    }
  }
}

TEST(EdgesHazard, EveryRescaleThresholdFromBothSides) {
  for (const ProblemKind problem : find_family("rescale_threshold")->problems) {
    std::array<Sides, std::size(kRescaleThresholds)> sides{};
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      for (const char* format : kFormatNames) {
        const Case made = make_case({problem, "rescale_threshold", seed, {{"format", format}}});
        for (const ScoreRow& row : rows_of(made)) {
          for (std::size_t t = 0; t < sides.size(); ++t) {
            double frame = -INFINITY;
            for (const double top : visited_maxima(row)) {
              const double off = top - frame - kRescaleThresholds[t];
              const bool close = std::abs(off) < 0.01 * kRescaleThresholds[t];
              sides[t].below += close && off <= 0;
              sides[t].at_or_above += close && off > 0;
              if (off > 0) frame = top;
            }
          }
        }
      }
    }
    for (std::size_t t = 0; t < sides.size(); ++t) {
      EXPECT_GE(sides[t].below, 5) << name(problem) << " " << kRescaleThresholds[t];
      EXPECT_GE(sides[t].at_or_above, 5) << name(problem) << " " << kRescaleThresholds[t];
    }
  }
}

}  // namespace
}  // namespace flashproof
