#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

Ball ball(double hi, double radius) { return {.hi = hi, .lo = 0.0, .radius = radius}; }

TEST(NarrowEnough, TheLimitIsAFractionOfAnF32Ulp) {
  constexpr Format f32 = Format::f32;
  EXPECT_TRUE(narrow_enough(ball(1.5, 0x1p-35), f32));  // ulp 2^-23
  EXPECT_FALSE(narrow_enough(ball(1.5, 0x1.001p-35), f32));
  EXPECT_TRUE(narrow_enough(ball(1.0, 0x1p-36), f32));  // the ball reaches below 1, where the ulp is half as large
  EXPECT_FALSE(narrow_enough(ball(1.0, 0x1p-35), f32));
  EXPECT_TRUE(narrow_enough(ball(-1.5, 0x1p-35), f32));
  EXPECT_FALSE(narrow_enough(ball(1.0, INFINITY), f32));
  EXPECT_FALSE(narrow_enough(ball(1.0, NAN), f32));
}

TEST(NarrowEnough, EveryFormatHasItsOwnUlp) {
  struct Line {
    Format format;
    int ulp_of_1, least;
  };
  for (const Line& line : {Line{Format::f32, -23, -149}, Line{Format::f16, -10, -24}, Line{Format::bf16, -7, -133}}) {
    const double limit = std::ldexp(1.0, line.ulp_of_1 - 12);
    EXPECT_TRUE(narrow_enough(ball(1.5, limit), line.format));
    EXPECT_FALSE(narrow_enough(ball(1.5, 1.001 * limit), line.format));
    // Below the normal range, and around 0, the spacing of the subnormals.
    const double least = std::ldexp(1.0, line.least - 12);
    for (const double hi : {0.0, std::ldexp(1.0, line.least), std::ldexp(-5.0, line.least), 0x1p-300}) {
      EXPECT_TRUE(narrow_enough(ball(hi, least), line.format)) << hi;
      EXPECT_FALSE(narrow_enough(ball(hi, 1.1 * least), line.format)) << hi;
    }
  }
}

TEST(NarrowEnough, BeyondTheRangeTheExponentGoesOn) {
  EXPECT_TRUE(narrow_enough(ball(0x1.8p300, 0x1p265), Format::f32));
  EXPECT_FALSE(narrow_enough(ball(0x1.8p300, 0x1.001p265), Format::f32));
  EXPECT_TRUE(narrow_enough(ball(0x1.8p20, 0x1p-2), Format::f16));
}

TEST(NarrowEnough, AmongF64SubnormalsTheLeastRadiusOfADoubleIsTheLimit) {
  for (const double hi : {0.0, 0x1p-1074, -0x1p-1030}) {
    EXPECT_TRUE(narrow_enough(ball(hi, 0x1p-1074), Format::f64)) << hi;
    EXPECT_FALSE(narrow_enough(ball(hi, 0x1p-1073), Format::f64)) << hi;
  }
  EXPECT_TRUE(narrow_enough(ball(1.5, 0x1p-64), Format::f64));
  EXPECT_FALSE(narrow_enough(ball(1.5, 0x1.1p-64), Format::f64));
}

TEST(NarrowEnough, WhatIsNoNumberIs) {
  for (const int classes : {kNaN + 0, kNegInf + 0, kPosInf | kNaN}) {
    Ball special;
    special.classes = static_cast<std::uint8_t>(classes);
    special.radius = INFINITY;
    EXPECT_TRUE(narrow_enough(special, Format::f32));
  }
  Ball either = ball(0.0, INFINITY);
  either.classes = kFinite | kNaN;
  EXPECT_FALSE(narrow_enough(either, Format::f32));
}

}  // namespace
}  // namespace flashproof
