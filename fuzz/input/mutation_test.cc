#include "fuzz/input/mutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/generators/family.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr const char* kRecipes[] = {"softmax:normal:1:rows=4,cols=33,layout=dense",
                                    "merge:normal:2:n=5,rows=3,dv=4,layout=dense",
                                    "attention:normal:3:sq=3,sk=9,b=1,hq=1,hk=1,layout=dense",
                                    "attention:mask_random:4:sq=3,sk=9,b=1,hq=1,hk=1,format=bf16"};

TEST(Mutation, is_a_pure_function_of_its_number) {
  for (const char* recipe : kRecipes) {
    const Problem original = make_case(parse_case_spec(recipe)).problem;
    int changed = 0;
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      Problem a = original, b = original;
      mutate(a, {seed, 1, 2});
      mutate(b, {seed, 1, 2});
      EXPECT_EQ(a, b) << recipe;
      EXPECT_NO_THROW(validate(a)) << recipe;
      changed += a == original ? 0 : 1;
    }
    EXPECT_GT(changed, 30) << recipe;
  }
}

TEST(Mutation, keeps_finite_entries_finite_and_leaves_the_others) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f16, {3, 8});
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t j = 0; j < 8; ++j) p.x.set({r, j}, j == 5 ? -kInfinity : 65504.0 * (j % 2 == 0 ? 1 : -1));
  }
  p.plan = ChunkPlan::uniform(8, 4);
  Problem problem = p;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    mutate(problem, {seed, static_cast<std::int32_t>(seed % 7), 0});
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t j = 0; j < 8; ++j) {
        const double x = std::get<SoftmaxProblem>(problem).x.at({r, j});
        ASSERT_EQ(std::isfinite(x), j != 5) << seed;
      }
    }
  }
}

TEST(Mutation, a_single_row_or_column_is_changed_too) {
  for (const char* recipe : {"softmax:normal:1:rows=1,cols=33", "merge:normal:2:n=5,rows=1,dv=1"}) {
    const Problem original = make_case(parse_case_spec(recipe)).problem;
    int changed = 0;
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      Problem a = original;
      mutate(a, {seed, 0, 0});
      changed += a == original ? 0 : 1;
    }
    EXPECT_GT(changed, 20) << recipe;
  }
}

TEST(Mutation, lists_are_text_and_back) {
  const std::vector<Mutation> list = {{1, 0, 0}, {4294967295, 2147483647, 3}, {7, 1, 63}};
  EXPECT_EQ(to_text(list), "1:0:0 4294967295:2147483647:3 7:1:63");
  EXPECT_EQ(parse_mutations(to_text(list)), list);
  EXPECT_TRUE(parse_mutations("").empty());
  for (const char* wrong : {" ", "1", "1:2", "1:2:3 ", " 1:2:3", "1:2:3  4:5:6", "1:2:3,4:5:6", "-1:2:3", "1:2:x",
                            "01:2:3", "4294967296:0:0", "0:2147483648:0", "1:2:3:4", "::"}) {
    EXPECT_THROW(parse_mutations(wrong), UsageError) << wrong;
  }
  EXPECT_THROW(parse_mutations(to_text(std::vector<Mutation>(kMostMutations + 1))), UsageError);
}

}  // namespace
}  // namespace flashproof
