// What the oracle refuses at its door: one line that names the argument, or the figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

AttentionProblem small() {
  return test::attention(
      Format::f32, {.batch = 2, .q_heads = 4, .k_heads = 2}, [] { return 1.0; }, [] { return 1.0; },
      [] { return 1.0; });
}

/// Every entrance says the same.
std::string refusal(const Problem& problem, const OracleOptions& options = {}) {
  const std::string text = message_of([&] { const Oracle oracle(problem, options); });
  EXPECT_EQ(message_of([&] { narrow_truth(problem, Format::f32, options); }), text);
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  return text;
}

TEST(OracleDoor, AcceptsTheProblemThatTheOthersAreMadeOf) { EXPECT_EQ(refusal(small()), "(nothing was thrown)"); }

TEST(OracleDoor, RefusesWhatItIsNotProvedFor) {
  const auto ones = [] { return 1.0; };
  for (const Format format : {Format::f64, Format::e5m2, Format::e4m3fn}) {
    const std::string text = refusal(test::softmax(format, 1, 3, ones));
    EXPECT_THAT(text, StartsWith("x"));
    EXPECT_THAT(text, HasSubstr(info(format).name));
  }
}

TEST(OracleDoor, NamesTheArgument) {
  AttentionProblem p = small();
  p.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(p), StartsWith("scale"));
  p = small();
  p.softcap = -1.0F;
  EXPECT_THAT(refusal(p), StartsWith("softcap"));
  p = small();
  p.q = Tensor::dense(Format::f32, {2, 3, 4, 8});
  for (std::int64_t i = 0; i < p.q.elements(); ++i) p.q.set_bits(i, 0);
  EXPECT_THAT(refusal(p), StartsWith("q"));
  EXPECT_THAT(refusal(p), HasSubstr("multiple"));
  // Pages: 3 pages of 4 keys, each of 2 sequences uses two of them.
  p = small();
  p.k = test::filled(Format::f32, {3, 2, 4, 8}, [] { return 1.0; });
  p.v = test::filled(Format::f32, {3, 2, 4, 5}, [] { return 1.0; });
  p.plan = ChunkPlan::uniform(8, 8);
  p.page_table = {0, 1, 2, 0};
  EXPECT_EQ(refusal(p), "(nothing was thrown)");
  for (const std::int32_t wrong : {-1, 3, std::numeric_limits<std::int32_t>::min()}) {
    p.page_table = {0, 1, wrong, 0};
    EXPECT_THAT(refusal(p), StartsWith("page_table"));
  }
  const std::vector<Problem> two = {small(), p};
  EXPECT_THAT(message_of([&] { compute_truths(two, Format::f32); }), StartsWith("page_table"));
}

/// Broadcast inputs: large on paper, one element in memory.
Tensor broadcast(std::vector<std::int64_t> shape) {
  const std::vector<std::int64_t> stride(shape.size(), 0);
  Tensor tensor = Tensor::strided(Format::f32, std::move(shape), stride);
  tensor.set_bits(0, encode(Format::f32, 1.0));
  return tensor;
}

TEST(OracleDoor, RefusesWhatDoesNotFitIntoMemoryBeforeAllocatingIt) {
  // 2^20 x 2000 balls: 49 GiB.
  SoftmaxProblem many;
  many.x = broadcast({1 << 20, 2000});
  many.plan = ChunkPlan::uniform(2000, 2000);
  const std::string text = refusal(many);
  EXPECT_THAT(text, StartsWith("x axis 0 = 1048576: the truth would need "));
  EXPECT_THAT(text, HasSubstr("GiB for o and lse, 1048576 rows x 2000"));
  EXPECT_THAT(text, HasSubstr("the limit is 8.0 GiB"));
  EXPECT_GT(memory_needed(many, {}), std::int64_t{48} << 30);
  EXPECT_LT(memory_needed(many, {}), std::int64_t{60} << 30);

  // Rows over 2^30 keys: what a thread keeps of the keys. Eight threads keep more.
  AttentionProblem keys = small();
  keys.q = broadcast({1, 1, 9, 8});
  keys.k = broadcast({1, 1, 1 << 30, 8});
  keys.v = broadcast({1, 1, 1 << 30, 5});
  keys.plan = ChunkPlan::uniform(1 << 30, 1 << 30);
  EXPECT_THAT(refusal(keys), StartsWith("k axis 2 = 1073741824: "));
  EXPECT_GT(memory_needed(keys, {.threads = 8}), memory_needed(keys, {}));

  // What fp64 keeps of many rows, however few the keys are.
  AttentionProblem queries = small();
  queries.q = broadcast({1, 1, 8000000, 8});
  queries.k = broadcast({1, 1, 1, 8});
  queries.v = broadcast({1, 1, 1, 5});
  queries.plan = ChunkPlan::uniform(1, 1);
  EXPECT_THAT(refusal(queries), StartsWith("q axis 2 = 8000000: "));
  EXPECT_THAT(refusal(queries), HasSubstr("what fp64 keeps of 8000000 rows"));

  // The limit is a limit: one byte less than needed is refused, what is needed is not.
  const Problem problem = small();
  const std::int64_t needed = memory_needed(problem, {});
  EXPECT_EQ(refusal(problem, {.memory_limit = needed}), "(nothing was thrown)");
  EXPECT_THAT(refusal(problem, {.memory_limit = needed - 1}), HasSubstr("the limit is "));
  const std::vector<Problem> two = {problem, problem};
  EXPECT_THAT(message_of([&] { compute_truths(two, Format::f32, {.memory_limit = needed}); }),
              HasSubstr("the limit is "));
}

TEST(OracleDoor, MemoryOfTheLargestLegalShapesDoesNotOverflow) {
  SoftmaxProblem wide;
  wide.x = broadcast({1, kMaxExtent});
  wide.plan = ChunkPlan::uniform(kMaxExtent, kMaxExtent);
  for (const int threads : {1, 1 << 30}) {
    EXPECT_GT(memory_needed(wide, {.threads = threads}), std::int64_t{1} << 35);
    EXPECT_THAT(refusal(wide, {.threads = threads}), HasSubstr("x axis 1 = 2147483647"));
  }
}

}  // namespace
}  // namespace flashproof
