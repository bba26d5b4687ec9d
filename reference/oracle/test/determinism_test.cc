// The same bits of truth whatever the number of threads and the vector unit, through the front door.
#include <gtest/gtest.h>

#include "reference/oracle/fp64/test/row_check.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

/// More than one block of rows and chunk of keys, several heads, and every fourth kind of difficulty.
std::vector<Problem> problems() {
  std::vector<Problem> list;
  Random random(1, 970);
  const test::Draw normal = test::normal(random);
  AttentionProblem large = test::attention(
      Format::f32, {.q_heads = 4, .k_heads = 2, .sq = 75, .sk = 700, .d = 33, .dv = 21}, normal, normal, normal);
  large.causal = true;
  list.emplace_back(large);
  list.emplace_back(test::attention(Format::bf16, {.sq = 40, .sk = 65, .d = 8, .dv = 4}, normal, normal, normal));
  list.emplace_back(test::softmax(Format::f32, 70, 1001, normal));
  list.emplace_back(test::merge(Format::f32, 9, 70, 37, normal, normal, MergeForm::sum));
  list.emplace_back(test::merge(Format::f16, 3, 50, 5, normal, normal, MergeForm::concat));
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); kind += 4) {
    list.push_back(test::hard_kinds()[kind].make(random));
  }
  return list;
}

TEST(Determinism, NeitherThreadsNorVectorUnitsChangeABitOfTheTruth) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2";
  for (const Problem& problem : problems()) {
    const Oracle first(problem, {.threads = 1});
    const int targets = test::for_each_target([&](const std::string& name) {
      for (const int threads : {1, 2, 3, 8}) {
        const Oracle again(problem, {.threads = threads});
        EXPECT_TRUE(test::same_bits(first.truth(), again.truth())) << name << ' ' << threads;
      }
    });
    EXPECT_GE(targets, 1);
  }
}

TEST(Determinism, NorOfTheRowsThatClimb) {
  Random random(2, 970);
  for (const std::size_t kind : {12U, 17U, 18U}) {  // normal, cancelling dots, exact zeros
    const Problem problem = test::hard_kinds()[kind].make(random);
    const Truth first = narrow_truth(problem, Format::f32, {.threads = 1});
    test::for_each_target([&](const std::string& name) {
      for (const int threads : {1, 3, 8}) {
        const Truth again = narrow_truth(problem, Format::f32, {.threads = threads});
        EXPECT_TRUE(test::same_bits(first, again)) << test::hard_kinds()[kind].name << ' ' << name << ' ' << threads;
      }
    });
  }
}

}  // namespace
}  // namespace flashproof
