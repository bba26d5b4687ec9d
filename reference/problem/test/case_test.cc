#include "reference/problem/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

TEST(CaseSpec, ReadsTheGrammar) {
  const CaseSpec spec = parse_case_spec("attention:staircase:7:sq=33,format=f16,order=2/0/1");
  EXPECT_EQ(spec.problem, ProblemKind::attention);
  EXPECT_EQ(spec.family, "staircase");
  EXPECT_EQ(spec.seed, 7U);
  EXPECT_EQ(spec.keys, (std::map<std::string, std::string>{{"format", "f16"}, {"order", "2/0/1"}, {"sq", "33"}}));
  EXPECT_EQ(to_string(spec), "attention:staircase:7:format=f16,order=2/0/1,sq=33") << "keys print sorted";
}

TEST(CaseSpec, PrintsWhatItReads) {
  for (std::string_view line :
       {"softmax:normal:0", "merge:two_sided:18446744073709551615", "softmax:a1_:3:k=-1e30,m=+.5,z=A_b/c"}) {
    EXPECT_EQ(to_string(parse_case_spec(line)), line);
    EXPECT_EQ(parse_case_spec(to_string(parse_case_spec(line))), parse_case_spec(line));
  }
}

TEST(CaseSpec, RefusesTheRestInOneLine) {
  const std::string long_name(65, 'a');
  const std::pair<std::string, std::string> wrong[] = {
      {"", "problem \"\" must be softmax, merge, attention or attention_backward"},
      {"softmax", "no family"},
      {"softmax:normal", "no seed"},
      {"Softmax:normal:1", "problem"},
      {" softmax:normal:1", "problem"},
      {"softmax::1", "family"},
      {"softmax:Normal:1", "family"},
      {"softmax:1normal:1", "family"},
      {"softmax:" + long_name + ":1", "family"},
      {"softmax:normal:", "seed"},
      {"softmax:normal:-1", "seed"},
      {"softmax:normal:+1", "seed"},
      {"softmax:normal:01", "seed"},
      {"softmax:normal:0x1", "seed"},
      {"softmax:normal:1 ", "seed"},
      {"softmax:normal:18446744073709551616", "seed"},
      {"softmax:normal:1:", "key"},
      {"softmax:normal:1:rows", "value"},
      {"softmax:normal:1:rows=", "value"},
      {"softmax:normal:1:=3", "key"},
      {"softmax:normal:1:rows=3,", "key"},
      {"softmax:normal:1:rows=3,,cols=2", "key"},
      {"softmax:normal:1:rows=3,rows=3", "key rows is given twice"},
      {"softmax:normal:1:rows=3=4", "value"},
      {"softmax:normal:1:rows=3:4", "value"},
      {"softmax:normal:1:rows=a b", "value"},
      {"softmax:normal:1:rows=\n", "value"},
      {"softmax:normal:1:rows=" + std::string(257, '1'), "value"},
      {"softmax:normal:1\n", "seed"},
      {std::string("softmax:normal:1\0", 17), "seed"},
      {std::string(4097, 'x'), "4097 characters"},
  };
  for (const auto& [line, fragment] : wrong) {
    try {
      parse_case_spec(line);
      ADD_FAILURE() << "accepted " << quote(line);
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, HasSubstr(fragment)) << quote(line);
      EXPECT_EQ(message, printable(message, 500)) << "one printable line";
    }
  }
}

TEST(Text, StrictNumbers) {
  EXPECT_EQ(parse_u64("0"), 0U);
  EXPECT_EQ(parse_u64("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  for (std::string_view text : {"", "00", "-0", "1.0", "1e3", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_FALSE(parse_u64(text)) << text;
  }
  EXPECT_FALSE(parse_count("9223372036854775808"));
  EXPECT_EQ(parse_counts(""), std::vector<std::int64_t>{});
  EXPECT_EQ(parse_counts("3,0,12"), (std::vector<std::int64_t>{3, 0, 12}));
  for (std::string_view text : {",", "1,", ",1", "1,,2", "1, 2", "a"}) EXPECT_FALSE(parse_counts(text)) << text;
  EXPECT_EQ(quote(std::string_view("a\n\x01\xff\0b", 6)), "\"a\\x0a\\x01\\xff\\x00b\"");
  EXPECT_EQ(legible("0 \xc2\xb1 \xe2\x88\x92 \xcf\x80"), "0 \xc2\xb1 \xe2\x88\x92 \xcf\x80");
  // C1 controls, a lone or cut byte, a direction mark, a surrogate, a zero of two bytes, an escape.
  EXPECT_EQ(legible("\xc2\x9b\xc2 \xe2\x80\xae\xed\xa0\x80\xc0\x80\x1b"),
            "\\xc2\\x9b\\xc2 \\xe2\\x80\\xae\\xed\\xa0\\x80\\xc0\\x80\\x1b");
  EXPECT_EQ(legible("a\xc2\xb1zz", 2), "a\xc2\xb1...") << "no character is cut";
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace flashproof
