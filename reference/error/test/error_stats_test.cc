#include "reference/error/error_stats.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "reference/error/judge.h"
#include "reference/error/test/rapidcheck_seed.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

struct Sample {
  double computed = 0;
  Ball truth;
  ElementBound bound;
  std::uint64_t case_index = 0, index = 0;
  Format format = Format::f32;
};

void add(ErrorStats& stats, const Sample& s) {
  const RowDomain domain;
  const std::uint64_t bits = encode(s.format, s.computed);
  const Element element{Part::o, 0, 0, s.format, bits, decode(s.format, bits), s.truth, s.bound, kInfinity, domain};
  stats.add(element, decide(element, Contract{}), s.case_index, s.index);
}

ErrorStats stats_of(const std::vector<Sample>& samples) {
  ErrorStats stats;
  for (const Sample& sample : samples) add(stats, sample);
  return stats;
}

rc::Gen<Sample> any_sample() {
  return rc::gen::map(rc::gen::arbitrary<std::array<std::uint64_t, 4>>(), [](const std::array<std::uint64_t, 4>& draw) {
    // Few values, so that equal ratios (ties of the witness) and every class occur often.
    const double values[] = {0, 1, -1, 1 + 0x1p-23, 0x1p-149, 3e38, kInfinity, -kInfinity, kNan, 2};
    const std::uint8_t classes[] = {kFinite, kFinite, kFinite, kNaN, kPosInf | kNaN, kNegInf};
    const double bounds[] = {0, 0x1p-24, 0x1p-23, 1, kInfinity, kNan};
    Sample s;
    s.computed = values[draw[0] % 10];
    s.truth.hi = values[draw[1] % 6];
    s.truth.lo = draw[1] % 5 == 0 && s.truth.hi == 1 ? -0x1p-60 : 0;
    s.truth.classes = classes[draw[1] / 8 % 6];
    s.bound.weights = bounds[draw[2] % 6];
    s.case_index = draw[3] % 3;
    s.index = draw[3] / 8 % 4;
    return s;
  });
}

ErrorStats plus(ErrorStats a, const ErrorStats& b) {
  a.merge(b);
  return a;
}

TEST(ErrorStats, IsACommutativeMonoid) {
  EXPECT_TRUE(rc::check("any split and order of merging serializes equally", [] {
    const auto samples = rc::gen::container<std::vector<Sample>>(any_sample());
    const std::vector<Sample> a = *samples, b = *samples, c = *samples;
    const ErrorStats x = stats_of(a), y = stats_of(b), z = stats_of(c);
    const std::string all = plus(plus(x, y), z).serialize();
    RC_ASSERT(plus(x, plus(y, z)).serialize() == all);
    RC_ASSERT(plus(plus(z, x), y).serialize() == all);
    RC_ASSERT(plus(ErrorStats{}, x).serialize() == x.serialize());
    RC_ASSERT(plus(x, ErrorStats{}).serialize() == x.serialize());
    std::vector<Sample> joined = a;
    joined.insert(joined.end(), b.begin(), b.end());
    joined.insert(joined.end(), c.begin(), c.end());
    RC_ASSERT(stats_of(joined).serialize() == all);
    RC_ASSERT(ErrorStats::deserialize(all).serialize() == all);
  }));
}

TEST(ErrorStats, NanIsTheWorstAndNeverVanishes) {
  EXPECT_TRUE(std::isnan(worse(kNan, kInfinity)));
  EXPECT_TRUE(std::isnan(worse(kInfinity, kNan)));
  EXPECT_EQ(worse(1, kInfinity), kInfinity);
  // A NaN bound gives a NaN ratio; large ratios before and after it must not replace it, as fmax would.
  const Sample large{5, {1, 0, 0}, {1, 0, 0, 0}, 0, 0}, nan_ratio{1, {1, 0, 0}, {kNan, 0, 0, 0}, 0, 1};
  for (const auto& order : {std::vector{large, nan_ratio, large}, {nan_ratio, large}, {large, nan_ratio}}) {
    const ErrorStats stats = stats_of(order);
    EXPECT_TRUE(std::isnan(stats.max_ratio));
    EXPECT_TRUE(std::isnan(stats.witness.ratio));
    EXPECT_EQ(stats.witness.index, 1U);
    EXPECT_EQ(stats.ratio_octaves[63], 1U);
  }
}

TEST(ErrorStats, ANanOutputIsNotAPerfectOne) {
  // The defect of an fmax-based checker: NaN differences vanish and the maximum stays 0.
  const ErrorStats stats = stats_of({{kNan, {1, 0, 0}, {0x1p-20, 0, 0, 0}, 0, 0}, {kNan, {2, 0, 0}, {}, 0, 1}});
  EXPECT_EQ(stats.max_ratio, kInfinity);
  EXPECT_EQ(stats.witness.ratio, kInfinity);
  EXPECT_EQ(stats.failures[static_cast<std::size_t>(Failure::class_mismatch)], 2U);
  EXPECT_EQ(stats.classes[3], 2U);
  EXPECT_EQ(stats.finite_elements, 0U);
}

TEST(ErrorStats, InfForFltMaxIsAClassMismatchAndNotOneUlp) {
  const double flt_max = info(Format::f32).max_finite;
  const ErrorStats stats = stats_of({{kInfinity, {flt_max, 0, 0}, {}, 0, 0}});
  EXPECT_EQ(stats.max_ulp, 0);
  EXPECT_EQ(stats.max_ratio, kInfinity);
  EXPECT_EQ(stats.failures[static_cast<std::size_t>(Failure::class_mismatch)], 1U);
}

TEST(ErrorStats, AllowedSpecialValuesHaveNoRatio) {
  // NaN where NaN is right; inf where o + B' rounds to inf.
  const double flt_max = info(Format::f32).max_finite;
  const ErrorStats stats =
      stats_of({{kNan, {0, 0, 0, kNaN}, {}, 0, 0}, {kInfinity, {flt_max, 0, 0}, {0x1p104, 0, 0, 0}, 0, 1}});
  EXPECT_EQ(stats.verdicts[static_cast<std::size_t>(VerdictKind::pass)], 2U);
  EXPECT_EQ(stats.max_ratio, 0);
  EXPECT_EQ(stats.witness.ratio, -1);
}

TEST(ErrorStats, ZeroErrorIsRatioZeroAndAnyErrorAgainstZeroBoundInf) {
  // In f64 half the smallest subnormal is 0, so that a zero bound at 0 is really zero.
  EXPECT_EQ(stats_of({{0, {0, 0, 0}, {}, 0, 0, Format::f64}}).max_ratio, 0);
  EXPECT_EQ(stats_of({{1e-300, {0, 0, 0}, {}, 0, 0, Format::f64}}).max_ratio, kInfinity);
  EXPECT_EQ(stats_of({{0x1p-149, {0, 0, 0}, {}, 0, 0}}).max_ratio, 2);  // error η against η/2
}

TEST(ErrorStats, ErrorIsExactWherePlainSubtractionCancels) {
  EXPECT_EQ(signed_error(1, {1, 0x1p-60, 0}), -0x1p-60);
  EXPECT_EQ(signed_error(1, {1, 0, 0}), 0);
  EXPECT_EQ(signed_error(3, {1, 0, 0}), 2);
  // Inexact: rounded away from zero, by a few units of 2^-53 at most.
  EXPECT_GE(signed_error(3, {1, 0x1p-60, 0}), 2);  // 2 - 2^-60
  EXPECT_LE(signed_error(3, {1, 0x1p-60, 0}), 2 + 0x1p-50);
  EXPECT_LT(signed_error(-3, {1, 0x1p-60, 0}), -4);  // -4 - 2^-60
  EXPECT_GE(signed_error(-3, {1, 0x1p-60, 0}), -4 - 0x1p-48);
}

TEST(ErrorStats, StatisticsOfASmallSample) {
  // Errors 1, −2, 0 against truths 3, 4, 0 with B' = 1 (the rounding's share is below 2^-20 of it).
  const ErrorStats s = stats_of(
      {{4, {3, 0, 0}, {1, 0, 0, 0}, 7, 0}, {2, {4, 0, 0}, {0, 1, 0, 0}, 7, 1}, {0, {0, 0, 0}, {1, 0, 0, 0}, 7, 2}});
  EXPECT_EQ(s.elements, 3U);
  EXPECT_EQ(s.max_abs, 2);
  EXPECT_EQ(s.max_ulp, 2 / 0x1p-21);  // in units of the ulp at 4
  EXPECT_EQ(s.mean_abs(), 1);
  EXPECT_DOUBLE_EQ(s.rmse(), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(s.normwise(), std::sqrt(5.0 / 25));
  EXPECT_NEAR(s.max_ratio, 2, 0x1p-18);
  EXPECT_EQ(s.witness.index, 1U);
  EXPECT_EQ(s.witness.case_index, 7U);
  EXPECT_EQ(s.witness.bound.numerator, 1);
  EXPECT_EQ(s.ratio_octaves[0], 1U);   // the zero
  EXPECT_EQ(s.ratio_octaves[55], 1U);  // just below 1
  EXPECT_EQ(s.ratio_octaves[56], 1U);  // just below 2
}

TEST(ErrorStats, UlpOctavesCountEveryFiniteElementWithAFiniteTruth) {
  const auto octave = [](int floor_log2) { return static_cast<std::size_t>(floor_log2 - kLeastUlpOctave + 1); };
  const ErrorStats s = stats_of({{4, {3, 0, 0}, {1, 0, 0, 0}, 0, 0},          // 1 / 2^-22
                                 {2, {4, 0, 0}, {0, 1, 0, 0}, 0, 1},          // 2 / 2^-21
                                 {0, {0, 0, 0}, {1, 0, 0, 0}, 0, 2},          // exact
                                 {1, {1, 0x1p-25, 0}, {1, 0, 0, 0}, 0, 3},    // a quarter of an ulp
                                 {1, {1, 0x1p-60, 0}, {1, 0, 0, 0}, 0, 4},    // below the least octave
                                 {1e30, {1, 0, 0}, {1, 0, 0, 0}, 0, 5},       // above the largest
                                 {kNan, {1, 0, 0}, {1, 0, 0, 0}, 0, 6},       // no number
                                 {1, {0, 0, 0, kNaN}, {1, 0, 0, 0}, 0, 7}});  // no true number
  EXPECT_EQ(s.ulp_octaves[0], 1U);
  EXPECT_EQ(s.ulp_octaves[octave(22)], 2U);
  EXPECT_EQ(s.ulp_octaves[octave(-2)], 1U);
  EXPECT_EQ(s.ulp_octaves[octave(kLeastUlpOctave)], 1U);
  EXPECT_EQ(s.ulp_octaves[octave(kMostUlpOctave)], 1U);
  EXPECT_EQ(&s.ulp_octaves[octave(kMostUlpOctave)], &s.ulp_octaves.back());
  std::uint64_t counted = 0;
  for (const std::uint64_t n : s.ulp_octaves) counted += n;
  EXPECT_EQ(counted, s.finite_elements);
}

TEST(Ulp, AtPowersOfTwoSubnormalsAndTheEnds) {
  EXPECT_EQ(ulp(Format::f32, 1.0), 0x1p-23);
  EXPECT_EQ(ulp(Format::f32, std::nextafter(1.0, 0.0)), 0x1p-24);
  EXPECT_EQ(ulp(Format::f32, Ball{1.0, -0x1p-60, 0}), 0x1p-24);
  EXPECT_EQ(ulp(Format::f32, Ball{-1.0, 0x1p-60, 0}), 0x1p-24);
  EXPECT_EQ(ulp(Format::f32, Ball{1.0, 0x1p-60, 0}), 0x1p-23);
  EXPECT_EQ(ulp(Format::f32, -1.5), 0x1p-23);
  EXPECT_EQ(ulp(Format::f32, 0.0), 0x1p-149);
  EXPECT_EQ(ulp(Format::f32, 0x1p-126), 0x1p-149);
  EXPECT_EQ(ulp(Format::f32, 0x1p-140), 0x1p-149);
  EXPECT_EQ(ulp(Format::f32, 1e-300), 0x1p-149);
  EXPECT_EQ(ulp(Format::f32, 3e38), 0x1p104);
  EXPECT_EQ(ulp(Format::f32, 1e300), 0x1p104);
  EXPECT_EQ(ulp(Format::f16, 1.0), 0x1p-10);
  EXPECT_EQ(ulp(Format::f16, 0x1p-20), 0x1p-24);
  EXPECT_EQ(ulp(Format::bf16, 1.0), 0x1p-7);
  EXPECT_EQ(ulp(Format::f64, 1.0), 0x1p-52);
  EXPECT_EQ(ulp(Format::e4m3fn, 448.0), 32.0);
  EXPECT_EQ(ulp(Format::e5m2, 57344.0), 8192.0);
}

TEST(Ulp, IsTheDistanceToTheNextF16Everywhere) {
  for (std::uint64_t bits = 0; bits < 0x7bff; ++bits) {
    ASSERT_EQ(ulp(Format::f16, decode(Format::f16, bits)), decode(Format::f16, bits + 1) - decode(Format::f16, bits))
        << bits;
  }
}

TEST(ErrorStats, DeserializeIsStrict) {
  const std::string good = stats_of({{4, {3, 0, 0}, {1, 0, 0, 0}, 7, 0}, {kNan, {4, 0, 0}, {}, 7, 1}}).serialize();
  ASSERT_EQ(ErrorStats::deserialize(good).serialize(), good);
  ASSERT_EQ(good.find_first_of(" \n\t"), std::string::npos);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(ErrorStats::deserialize(std::string_view(good).substr(0, length)), UsageError) << length;
  }
  for (const std::string& bad : {good + ",", good + "0", " " + good, good + "\n", "es1" + good.substr(3)}) {
    EXPECT_THROW(ErrorStats::deserialize(bad), UsageError) << bad;
  }
  // Any one character replaced: either refused, or read as exactly the text it is; never a crash, never repaired.
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'0', 'f', 'F', '-', ',', '.', ' ', '\0', 'n', '\x7f', '\x1b'}) {
      std::string text = good;
      text[at] = c;
      try {
        EXPECT_EQ(ErrorStats::deserialize(text).serialize(), text);
      } catch (const UsageError& e) {
        EXPECT_EQ(one_line(e.what()), e.what());
      }
    }
  }
  // Zeros have one spelling: as a run, whole.
  const std::size_t run = good.find(",*"), end = good.find(',', run + 1);
  ASSERT_NE(run, std::string::npos);
  const int zeros = std::stoi(good.substr(run + 2));
  const auto spelled = [&](const std::string& other) { return good.substr(0, run) + other + good.substr(end); };
  ASSERT_EQ(spelled(",*" + std::to_string(zeros)), good);
  for (const std::string& other :
       {",0,*" + std::to_string(zeros - 1), ",*1,*" + std::to_string(zeros - 1), ",*" + std::to_string(zeros + 1),
        std::string(",*0"), std::string(",*"), std::string(",*-1"), std::string(",*18446744073709551615")}) {
    EXPECT_THROW(ErrorStats::deserialize(spelled(other)), UsageError) << other;
  }
  EXPECT_THROW(ErrorStats::deserialize("es5,*1000"), UsageError);
  std::string counts = good;
  counts.replace(0, 6, "es5,3,");  // three elements claimed, two counted
  EXPECT_THROW(ErrorStats::deserialize(counts), UsageError);
}

TEST(ErrorStats, ABallOfInfiniteRadiusHasNoMiddleToMeasureFrom) {
  // The bound says nothing either, so the verdict is vacuous and nobody asks a slower tier.
  const ErrorStats stats = stats_of({{1.0, {1e30, 0, kInfinity}, {kInfinity, 0, 0, 0}}});
  EXPECT_EQ(stats.elements, 1U);
  EXPECT_EQ(stats.verdicts[static_cast<std::size_t>(VerdictKind::vacuous)], 1U);
  EXPECT_EQ(stats.finite_elements, 0U);
  EXPECT_EQ(stats.max_abs, 0.0);
  EXPECT_EQ(stats.sum_abs.value(), 0.0);
  EXPECT_EQ(stats.witness.ratio, -1);
}

}  // namespace
}  // namespace flashproof
