// Bad specs get one line that names the key and what is legal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/generators/family.h"
#include "properties/generators/keys.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::string message(const char* line) {
  try {
    make_case(parse_case_spec(line));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Keys, WrongNamesListNearMatches) {
  EXPECT_THAT(message("softmax:staircse:0"), AllOf(HasSubstr("staircse"), HasSubstr("did you mean staircase?")));
  EXPECT_THAT(message("softmax:qqqqqqqq:0"), AllOf(HasSubstr("legal: "), HasSubstr("special_values")));
  EXPECT_THAT(message("softmax:normal:0:clos=3"), AllOf(HasSubstr("clos"), HasSubstr("did you mean cols?")));
  EXPECT_THAT(message("softmax:normal:0:sk=3"), AllOf(HasSubstr("sk"), HasSubstr("legal keys: format, layout, rows")));
  EXPECT_THAT(message("softmax:normal:0:format=fp16"), AllOf(HasSubstr("format"), HasSubstr("f32, f16 or bf16")));
  EXPECT_THAT(message("merge:normal:0:layout=pad"), AllOf(HasSubstr("layout"), HasSubstr("did you mean padded?")));
  EXPECT_THAT(message("merge:normal:0:form=som"), AllOf(HasSubstr("form"), HasSubstr("sum or concat")));
}

TEST(Keys, FamilyThatDoesNotServe) {
  EXPECT_THAT(message("softmax:cancelling_dot:0"),
              AllOf(HasSubstr("cancelling_dot"), HasSubstr("it serves attention")));
  EXPECT_THAT(message("merge:tile_edges:0"), HasSubstr("softmax and attention"));
}

TEST(Keys, TypesAndRanges) {
  EXPECT_THAT(message("softmax:normal:0:cols=x"), AllOf(HasSubstr("key cols"), HasSubstr("0..16777216")));
  EXPECT_THAT(message("softmax:normal:0:cols=1.5"), HasSubstr("0..16777216"));
  EXPECT_THAT(message("softmax:normal:0:cols=-1"), HasSubstr("0..16777216"));
  EXPECT_THAT(message("softmax:normal:0:cols=99999999999999999999"), HasSubstr("0..16777216"));
  EXPECT_THAT(message("softmax:normal:0:chunk=0"), AllOf(HasSubstr("key chunk"), HasSubstr("1..")));
  EXPECT_THAT(message("attention:normal:0:causal=2"), AllOf(HasSubstr("key causal"), HasSubstr("0..1")));
  EXPECT_THAT(message("attention:normal:0:d=0"), AllOf(HasSubstr("key d"), HasSubstr("1..1024")));
  for (const char* scale : {"nan", "inf", "1e39", "one", "0x1p3", "1e9999"}) {
    const std::string line = std::string("attention:normal:0:scale=") + scale;
    EXPECT_THAT(message(line.c_str()), AllOf(HasSubstr("key scale"), HasSubstr("finite"))) << line;
  }
  EXPECT_EQ(message("attention:normal:0:scale=-1e-3"), "");
  EXPECT_EQ(message("attention:mixed_fp8:0:format=bf16,kv_format=e5m2"), "");
  EXPECT_THAT(message("attention:mixed_fp8:0:kv_format=f16"),
              AllOf(HasSubstr("kv_format"), HasSubstr("e4m3fn or e5m2")));
  EXPECT_THAT(message("attention:normal:0:kv_format=e5m2"), HasSubstr("legal only for mixed_fp8"));
  EXPECT_EQ(message("attention:descale:0:descale=zero"), "");
  EXPECT_THAT(message("attention:descale:0:descale=zer"), HasSubstr("did you mean zero?"));
  EXPECT_THAT(message("attention:huge:0:descale=zero"), HasSubstr("legal only for descale"));
}

TEST(Keys, Together) {
  EXPECT_THAT(message("softmax:normal:0:rows=1000000,cols=1000000"),
              AllOf(HasSubstr("key cols"), HasSubstr("16777216")));
  EXPECT_THAT(message("attention:normal:0:sq=1000000,sk=1000000"), HasSubstr("must be at most 16777216"));
  EXPECT_THAT(message("merge:normal:0:n=4096,rows=1000000,dv=65536"), HasSubstr("must be at most 16777216"));
  EXPECT_THAT(message("attention:normal:0:hq=4,hk=3"), AllOf(HasSubstr("key hk"), HasSubstr("divide hq = 4")));
  EXPECT_THAT(message("softmax:staircase:0:cols=2"), AllOf(HasSubstr("key cols"), HasSubstr("at least 3")));
  EXPECT_THAT(message("softmax:staircase:0:cols=100,chunk=50"), AllOf(HasSubstr("key chunk"), HasSubstr("1..49")));
  EXPECT_EQ(message("softmax:staircase:0:cols=100,chunk=49"), "");
  EXPECT_THAT(message("attention:cancelling_dot:0:d=3"), AllOf(HasSubstr("key d"), HasSubstr("at least 4")));
  EXPECT_THAT(message("merge:overflow_edge:0:n=1"), AllOf(HasSubstr("key n"), HasSubstr("at least 2")));
}

TEST(Keys, Orders) {
  EXPECT_THAT(message("merge:normal:0:n=3,order=6"), AllOf(HasSubstr("key order"), HasSubstr("0..5")));
  EXPECT_EQ(message("merge:normal:0:n=3,order=5"), "");
  EXPECT_THAT(message("merge:normal:0:n=21,order=5"), AllOf(HasSubstr("key order"), HasSubstr("at most 20")));
  EXPECT_THAT(message("merge:normal:0:order=forwrd"), HasSubstr("did you mean forward?"));
  EXPECT_THAT(message("merge:normal:0:order=-1"), HasSubstr("0..n!-1"));
  EXPECT_EQ(message("merge:normal:0:n=21,order=random"), "");
}

TEST(Keys, MessagesAreOneLine) {
  for (const char* line : {"softmax:qqq:0", "softmax:normal:0:x=1", "softmax:normal:0:cols=x", "merge:tile_edges:0"}) {
    EXPECT_THAT(message(line), AllOf(Not(HasSubstr("\n")), Not(testing::IsEmpty()))) << line;
  }
}

// Every family copes with every extent a user may ask for: it makes a case or it says why not.
TEST(Keys, OddShapes) {
  const char* odd[] = {"softmax:%:1:cols=0",
                       "softmax:%:1:rows=0",
                       "softmax:%:1:cols=1,rows=1",
                       "softmax:%:2:cols=7,chunk=1",
                       "softmax:%:3:cols=40,chunk=99",
                       "merge:%:1:n=1",
                       "merge:%:1:rows=0",
                       "merge:%:2:n=9,dv=1",
                       "attention:%:1:sk=0",
                       "attention:%:1:sq=0",
                       "attention:%:2:d=1,dv=1",
                       "attention:%:2:sk=1,sq=3,causal=1",
                       "attention:%:3:sq=5,sk=2,causal=1",
                       "attention:%:1:scale=0",
                       "attention:%:1:scale=3e38,format=f16",
                       "attention:%:1:scale=1e-40",
                       "attention:%:4:b=3,hq=4,hk=2,sk=70,chunk=7",
                       "attention:%:4:d=7,dv=3",
                       "attention:%:5:hk=3",
                       "attention:%:6:hq=3"};
  int made = 0, refused = 0;
  for (const Family& family : families()) {
    for (const std::string pattern : odd) {
      std::string line = pattern;
      line.replace(line.find('%'), 1, family.name);
      const CaseSpec spec = parse_case_spec(line);
      if (!family.serves(spec.problem)) continue;
      try {
        validate(make_case(spec).problem);
        ++made;
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("key ")) << line;
        ++refused;
      }
    }
  }
  EXPECT_GE(made, 300);
  EXPECT_GE(refused, 10);
  EXPECT_LE(refused, made / 5);
}

TEST(Keys, FamiliesOfTwoKeysAcceptTheSmallestShapes) {
  const char* const small[] = {"softmax:%:3:cols=2,rows=1", "merge:%:3:dv=1,n=2,rows=1", "attention:%:3:b=1,sk=2,sq=1",
                               "attention:%:4:d=1,dv=1,sk=2,sq=1"};
  for (const char* family : {"ramp", "rescale_threshold", "offset_rising", "near_ties", "duplicate_maxima", "flat_tail",
                             "sentinels", "logit_spread", "edge_floats", "hidden_specials", "aliasing", "page_edges"}) {
    for (const std::string pattern : small) {
      std::string line = pattern;
      line.replace(line.find('%'), 1, family);
      const CaseSpec spec = parse_case_spec(line);
      if (!find_family(family)->serves(spec.problem)) continue;
      Problem made;
      ASSERT_NO_THROW(made = make_case(spec).problem) << line;
      EXPECT_GE(output_shape(made).rows, 1) << line;
    }
  }
}

// Pages of 16 hold more keys than 4: the bias is as wide as they are.
TEST(Keys, a_bias_beside_pages_has_a_column_per_slot) {
  const Problem made = make_case(parse_case_spec("attention:pairs:80:sk=4,sq=4")).problem;
  const auto& attention = std::get<AttentionProblem>(made);
  ASSERT_TRUE(attention.has_bias() && attention.paged());
  EXPECT_EQ(attention.bias.shape[3], attention.k_length());
}

/// Of the first query of the first head, the scores of the first keys: paged, of the first page.
std::vector<double> scores(const AttentionProblem& p) {
  std::vector<double> sums;
  const std::int64_t place = p.paged() ? p.page_table.front() : 0;
  for (std::int64_t j = 0; j < std::min(p.k.shape[2], p.visible_length(0)); ++j) {
    double sum = 0;
    for (std::int64_t c = 0; c < p.head_dim(); ++c) sum += p.q.at({0, 0, 0, c}) * p.k.at({place, 0, j, c});
    sums.push_back(sum);
  }
  return sums;
}

TEST(Keys, without_the_bias_a_row_has_its_sizes_and_ordinary_scores) {
  std::size_t with_bias = 0;
  for (std::uint64_t seed = 0; seed < find_family("pairs")->round(ProblemKind::attention); ++seed) {
    const auto given = std::get<AttentionProblem>(make_case({ProblemKind::attention, "pairs", seed, {}}).problem);
    if (!given.has_bias()) continue;
    ++with_bias;
    const auto made =
        std::get<AttentionProblem>(make_case({ProblemKind::attention, "pairs", seed, {{"bias", "none"}}}).problem);
    EXPECT_FALSE(made.has_bias()) << seed;
    EXPECT_EQ(made.q.shape, given.q.shape) << seed;
    EXPECT_EQ(made.k.shape, given.k.shape) << seed;
    EXPECT_EQ(made.v.shape, given.v.shape) << seed;
    EXPECT_EQ(made.key_length, given.key_length) << seed;
    EXPECT_EQ(made.causal, given.causal) << seed;
    if (made.q_length(0) == 0) continue;
    const std::vector<double> of_a_row = scores(made);
    for (const double score : of_a_row) EXPECT_TRUE(std::isfinite(score)) << seed;
    if (of_a_row.size() < 2) continue;
    EXPECT_NE(std::ranges::min(of_a_row), std::ranges::max(of_a_row)) << seed;
  }
  EXPECT_GT(with_bias, 10U);
  EXPECT_THAT(message("attention:pairs:0:bias=some"), AllOf(HasSubstr("key bias"), HasSubstr("none")));
}

}  // namespace
}  // namespace flashproof
