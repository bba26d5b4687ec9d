#include "reports/views/terminal/text.h"
#include "reference/problem/special_values.h"

#include <gtest/gtest.h>

#include <limits>

namespace flashproof {
namespace {

TEST(Text, short_numbers_are_short_and_keep_their_magnitude) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.4321), "0.43");
  EXPECT_EQ(short_number(1.0), "1.00");
  EXPECT_EQ(short_number(31.26), "31.3");
  EXPECT_EQ(short_number(99.97), "100");
  EXPECT_EQ(short_number(1234.5), "1234");
  EXPECT_EQ(short_number(9999.7), "1e4");
  EXPECT_EQ(short_number(4.2e5), "4e5");
  EXPECT_EQ(short_number(3e-38), "3e-38");
  EXPECT_EQ(short_number(-2.5), "-2.50");
  EXPECT_EQ(short_number(kInfinity), "inf");
  EXPECT_EQ(short_number(-kInfinity), "-inf");
  EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, long_numbers_tell_neighbouring_floats_apart) {
  EXPECT_NE(long_number(1.0F), long_number(1.0F + std::numeric_limits<float>::epsilon()));
  EXPECT_EQ(long_number(-kInfinity), "-inf");
}

TEST(Text, control_characters_never_reach_a_terminal) {
  EXPECT_EQ(one_line("a\nb\033[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(one_line("0 ± 1"), "0 ± 1");
}

TEST(Text, markdown_escapes_everything_that_would_be_interpreted) {
  EXPECT_EQ(markdown_escaped("a|b*c_d`e"), "a\\|b\\*c\\_d\\`e");
  EXPECT_EQ(markdown_escaped("<script>\n[x](y)"), "\\<script\\>?\\[x\\](y)");
  EXPECT_EQ(markdown_escaped("plain text 1.5"), "plain text 1.5");
}

TEST(Text, padding_never_cuts) {
  EXPECT_EQ(pad("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(pad("abcdef", 4), "abcdef");
}

TEST(Text, wrapped_breaks_at_spaces_only) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 3), "one\ntwo\nthree");
  EXPECT_EQ(wrapped("unbreakable", 3), "unbreakable");
  EXPECT_EQ(wrapped("", 3), "");
}

}  // namespace
}  // namespace flashproof
