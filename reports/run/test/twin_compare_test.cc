#include "reports/run/twin_compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/run/run.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

Output two_values(std::uint32_t a, std::uint32_t b) {
  Output output{Tensor::dense(Format::f32, {1, 2}), Tensor::dense(Format::f32, {1})};
  output.o.set_bits(0, a);
  output.o.set_bits(1, b);
  output.lse.set_bits(0, 0);
  return output;
}

constexpr std::uint32_t kOne = 0x3f800000;

TEST(TwinCompare, equal_bits_are_equal_and_one_ulp_is_not) {
  TwinRow row;
  row.compare(two_values(kOne, kOne), two_values(kOne, kOne));
  EXPECT_EQ(row.elements, 3U);
  EXPECT_EQ(row.percent(), "100 %");
  EXPECT_FALSE(row.differing());
  row.compare(two_values(kOne, kOne), two_values(kOne, kOne + 1));
  EXPECT_TRUE(row.differing());
  EXPECT_EQ(row.equal, 5U);
  EXPECT_EQ(row.first_text, "o[1]: cpu 1 (0x3f800000), cuda 1.00000012 (0x3f800001)");
}

TEST(TwinCompare, all_nans_are_one_value_and_the_zeros_are_two) {
  TwinRow row;
  row.compare(two_values(0x7fc00000, kOne), two_values(0xffc12345, kOne));
  EXPECT_FALSE(row.differing());
  row.compare(two_values(0, kOne), two_values(0x80000000, kOne));
  EXPECT_TRUE(row.differing());
  TwinRow nan_against_number;
  nan_against_number.compare(two_values(0x7fc00000, kOne), two_values(kOne, kOne));
  EXPECT_TRUE(nan_against_number.differing());
}

TEST(TwinCompare, a_single_difference_is_never_rounded_up_to_all_equal) {
  TwinRow row;
  row.elements = 1'000'000'000;
  row.equal = row.elements - 1;
  EXPECT_EQ(row.percent(), "99.9999 %");
}

TEST(TwinCompare, merging_keeps_the_difference_of_the_lowest_case_in_either_order) {
  TwinRow a, b;
  a.compare(two_values(kOne, kOne), two_values(kOne + 1, kOne));
  b.fault("cpu: deadlock\nat x.cu:3");
  TwinRow ab, ba;
  ab.merge(a, 5), ab.merge(b, 3);
  ba.merge(b, 3), ba.merge(a, 5);
  EXPECT_EQ(ab.serialize(), ba.serialize());
  EXPECT_EQ(ab.first_case, 3U);
  EXPECT_EQ(ab.first_text, "cpu: deadlock?at x.cu:3");
}

TEST(TwinCompare, the_line_form_is_lossless) {
  TwinRow row;
  row.cases = 3;
  row.unsupported = 2;
  row.compare(two_values(kOne, kOne), two_values(kOne, 7));
  EXPECT_EQ(TwinRow::deserialize(row.serialize()).serialize(), row.serialize());
  EXPECT_EQ(TwinRow::deserialize(TwinRow{}.serialize()).serialize(), TwinRow{}.serialize());
  EXPECT_THROW(TwinRow::deserialize("1 2 3 4 x"), UsageError);
}

TEST(TwinCompare, every_part_of_a_gradient_is_compared) {
  Output a{.dq = poisoned(Format::f32, {1, 1, 1, 2}),
           .dk = poisoned(Format::f32, {1, 1, 1, 2}),
           .dv = poisoned(Format::f32, {1, 1, 1, 1})};
  Output b = a;
  TwinRow same;
  same.compare(a, b);
  EXPECT_FALSE(same.differing());
  EXPECT_EQ(same.elements, 5U);
  b.dk.set_bits(1, 1);
  a.dk.set_bits(1, 2);
  TwinRow other;
  other.compare(a, b);
  EXPECT_TRUE(other.differing());
  EXPECT_EQ(other.first_text.substr(0, 6), "dk[1]:");
}

}  // namespace
}  // namespace flashproof
