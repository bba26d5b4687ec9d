#include "reports/statistics/domain_stats.h"

#include <gtest/gtest.h>

#include <limits>

#include "reference/error/test/scene.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr const char* kScores = "scores below the range";
constexpr const char* kHeadroom = "head-room";

/// Rows: one outside twice over, one inside, one inside nearer, one with an accumulator that may overflow, one without any
/// precondition.
Bound five_rows() {
  Bound bound = make_scene(5, 3).bound;
  bound.domain[0].require({kHeadroom, 5, 10});
  bound.domain[0].require({kScores, 30, 10});
  bound.domain[1].require({kScores, 2, 10});
  bound.domain[2].require({kScores, 4, 10});
  bound.domain[3].require({kScores, 1, 10});
  bound.accumulator_outside[10] = 1;
  return bound;
}

TEST(DomainStats, counts_rows_by_the_precondition_that_fails_and_keeps_the_nearest_inside) {
  DomainStats stats;
  stats.add(five_rows());
  EXPECT_EQ(stats.rows, 5U);
  EXPECT_EQ(stats.outside, 2U);
  EXPECT_EQ(stats.by_name.at(kScores).outside, 1U);
  EXPECT_EQ(stats.by_name.at(kScores).worst.value, 30);
  EXPECT_EQ(stats.by_name.at(kScores).nearest.value, 4);
  ASSERT_NE(stats.nearest(), nullptr);
  EXPECT_EQ(stats.nearest()->first, kScores);
  std::uint64_t accumulators = 0;
  for (const auto& [name, s] : stats.by_name) accumulators += name == kScores ? 0 : s.outside;
  EXPECT_EQ(accumulators, 1U);
}

TEST(DomainStats, a_forms_own_precondition_counts_for_a_kernel_that_refuses) {
  Bound bound = make_scene(2, 3).bound;
  bound.domain[0].require({kScores, 2, 10});
  bound.domain[0].require({"e^-m", 90, 88, false});
  bound.domain[1].require({"e^-m", 80, 88, false});
  DomainStats plain, refusing;
  plain.add(bound);
  refusing.add(bound, true);
  EXPECT_EQ(plain.outside, 0U);
  EXPECT_FALSE(plain.by_name.contains("e^-m"));
  EXPECT_EQ(refusing.outside, 1U);
  EXPECT_EQ(refusing.by_name.at("e^-m").worst.value, 90);
  EXPECT_EQ(refusing.by_name.at("e^-m").nearest.value, 80);
}

TEST(DomainStats, is_a_commutative_monoid_and_text_and_back) {
  DomainStats a, b;
  a.add(five_rows());
  Bound other = make_scene(2, 2).bound;
  other.domain[0].require({kHeadroom, 9, 10});
  other.domain[1].require({kScores, std::numeric_limits<double>::quiet_NaN(), 10});
  b.add(other);
  DomainStats ab = a, ba = b, with_nothing = a;
  ab.merge(b);
  ba.merge(a);
  with_nothing.merge(DomainStats{});
  EXPECT_EQ(ab.serialize(), ba.serialize());
  EXPECT_EQ(with_nothing.serialize(), a.serialize());
  EXPECT_EQ(ab.rows, 7U);
  EXPECT_EQ(ab.nearest()->first, kHeadroom);
  EXPECT_EQ(DomainStats::deserialize(ab.serialize()).serialize(), ab.serialize());
  EXPECT_EQ(DomainStats{}.nearest(), nullptr);
}

TEST(DomainStats, deserialize_refuses_what_serialize_does_not_write) {
  DomainStats stats;
  stats.add(five_rows());
  const std::string good = stats.serialize();
  ASSERT_NO_THROW(DomainStats::deserialize(good));
  for (std::size_t length = 0; length < good.size(); ++length) {
    try {  // some prefixes end between two preconditions and are texts of their own
      EXPECT_EQ(DomainStats::deserialize(good.substr(0, length)).serialize(), good.substr(0, length));
    } catch (const UsageError&) {
    }
  }
  for (const char* bad : {"", "1|", "x|0|", "1|2|", "1|0|name|0|0|0|0|", "1|0|a|0|0|0|0|0|a|0|0|0|0|0|"}) {
    EXPECT_THROW(DomainStats::deserialize(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace flashproof
