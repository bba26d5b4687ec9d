#include "reference/system/text_place.h"

#include <gtest/gtest.h>

namespace flashproof {
namespace {

TEST(TextPlace, a_byte_by_line_and_column) {
  const std::string_view text = "{\n \"a\": x\n}";
  ASSERT_EQ(text[8], 'x');
  EXPECT_EQ(place_in(text, 9), "line 2, column 7 (byte 9 of 11)");
  EXPECT_EQ(place_in(text, 1), "line 1, column 1 (byte 1 of 11)");
  EXPECT_EQ(place_in(text, 2), "line 1, column 2 (byte 2 of 11)");  // the line break ends its line
  EXPECT_EQ(place_in(text, 3), "line 2, column 1 (byte 3 of 11)");
  EXPECT_EQ(place_in(text, 11), "line 3, column 1 (byte 11 of 11)");
}

TEST(TextPlace, behind_the_text_is_its_end) {
  EXPECT_EQ(place_in("{\n  ", 5), "its end, line 2, column 3 (4 bytes)");
  EXPECT_EQ(place_in("{\n  ", 400), "its end, line 2, column 3 (4 bytes)");
  EXPECT_EQ(place_in("", 1), "its end, line 1, column 1 (0 bytes)");
  EXPECT_EQ(place_in("", 0), "its end, line 1, column 1 (0 bytes)");
}

}  // namespace
}  // namespace flashproof
