// A million keys. One page, repeated: the rows of o are those of a problem with that page alone, and lse is larger by the
// logarithm of a count, or of a geometric series where an ALiBi slope tells the repetitions apart.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/fp64/test/attention_check.h"

namespace flashproof {
namespace {

using namespace attention64::check;

constexpr std::int64_t kPage = 97;
constexpr std::int64_t kPages = 10400;

AttentionProblem one_page(Random& random, double slope) {
  AttentionProblem p = test::attention(Format::f32, {.q_heads = 2, .sq = 1, .sk = kPage, .d = 64, .dv = 24},
                                       test::normal(random, 0.3), test::normal(random), test::normal(random));
  if (slope != 0) p.alibi = test::filled(Format::f32, {1, 2}, [&] { return slope; });
  return p;
}

void check_long(double slope, const AttentionOptions& options) {
  Random random(5, 95);
  const AttentionProblem page = one_page(random, slope);
  AttentionProblem p = page;
  p.page_table.assign(kPages, 0);
  p.plan = ChunkPlan::uniform(p.k_length(), p.k_length());
  ASSERT_NO_THROW(validate(p));
  const Tier0 tier = run_tier0(p, options);

  const ReferenceResult<Fine> exact = reference<Fine>(page);
  const auto error = test::reference_error<Fine>(Problem(page), ldexp(Fine(1), -kFineBits), 2.0);
  // Page t of T, from the end: e^(−slope·97·t) times the last one. The slope is the f32 number.
  Fine copies(kPages);
  if (slope != 0) {
    const Fine ratio = exp(Fine(-Fine(page.alibi.at({0, 0})) * kPage));
    copies = Fine(1 - pow(ratio, kPages)) / Fine(1 - ratio);
  }
  EnclosureCounts tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i) judge(tier.truth.o[i], exact.o[i], error.o, 5.0, tally);
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    const Fine lse = exact.lse[i] + log(copies);
    // The copies grow to e^(10^4) for a negative slope: still 10^-290 relative.
    judge(tier.truth.lse[i], lse, Fine(error.lse + ldexp(Fine(1), -900)), std::fabs(tier.truth.lse[i].hi), tally);
  }
  EXPECT_EQ(tally.elements, 50);
  EXPECT_EQ(tally.violations + tally.wrong_class + tally.unbounded + tally.wide, 0);
}

TEST(Fp64AttentionLong, AMillionEqualPages) { check_long(0.0, {}); }
TEST(Fp64AttentionLong, ScoresThatGrowForAMillionKeys) {
  check_long(0x1.47ae14p-7, {});  // 0.01: m moves every second chunk
  AttentionOptions always;
  always.growth = 0;
  check_long(0x1.47ae14p-7, always);
  check_long(2.0, {});  // by more than 707 from chunk to chunk: what was before is gone
}
TEST(Fp64AttentionLong, ScoresThatFallForAMillionKeys) { check_long(-0x1.47ae14p-7, {}); }

TEST(Fp64AttentionLong, MemoryDoesNotGrowWithTheKeys) {
  Random random(5, 96);
  AttentionProblem p = one_page(random, 0.0);
  p.page_table.assign(kPages, 0);
  // 16 bytes per key at most, for the lists of special rows (8 rows, 20 bytes per key); packed keys would be 900.
  EXPECT_LT(fp64_attention_memory(p, 2, 1), (std::int64_t{64} << 20) + 200 * p.k_length());
  EXPECT_GT(fp64_attention_memory(p, 2, 1), std::int64_t{32} << 20);
}

}  // namespace
}  // namespace flashproof
