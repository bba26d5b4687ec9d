// Rows of a million keys that begin at an odd place: right, and without memory for the row. The exact result needs one exp
// per distinct key. (attention_long_test.cc and softmax_test.cc have more long rows.)
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/softmax.h"
#include "reference/oracle/fp64/test/attention_check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLASHPROOF_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FLASHPROOF_SANITIZED 1
#endif
#endif

namespace flashproof {
namespace {

using namespace attention64::check;

constexpr std::int64_t kKeys = (std::int64_t{1} << 20) + 37;
constexpr std::int64_t kBefore = 13;  // keys of another sequence
constexpr std::int64_t kDistinct = 200, kDepth = 8, kWidth = 8, kQueries = 5;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The most memory that was ever resident, since forget_peak() where the system allows that.
std::int64_t peak_bytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  std::int64_t kibibytes = 0;
  while (file >> word) {
    if (word == "VmHWM:") file >> kibibytes;
  }
  return kibibytes * 1024;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// Runs body, and says by how much the peak grew.
template <class Body>
std::int64_t growth_of(const Body& body) {
  forget_peak();
  const std::int64_t before = peak_bytes();
  EXPECT_GT(before, 0);
  body();
  return peak_bytes() - before;
}

TEST(Fp64LongRows, TheMeasureOfMemoryWorks) {
  const std::int64_t growth = growth_of([] {
    std::vector<char> some(std::size_t{64} << 20);
    volatile char* const touched = some.data();  // or a compiler leaves all of it out
    for (std::size_t at = 0; at < some.size(); at += 1024) touched[at] = 'x';
  });
  EXPECT_GE(growth, 60 * kMiB);
}

/// Two packed sequences, one query and kBefore keys, kQueries queries and kKeys keys; the second sees the last
/// kKeys − 6 + i keys. Key j is one of kDistinct.
struct LongRows {
  AttentionProblem p;
  std::vector<std::int64_t> which;  // of key j of the second sequence

  explicit LongRows(Random& random) {
    const test::Draw normal = test::normal(random);
    const AttentionProblem few = test::attention(
        Format::f32, {.sq = kQueries + 1, .sk = kDistinct, .d = kDepth, .dv = kWidth}, normal, normal, normal);
    p.q = few.q;
    p.scale = few.scale;
    p.k = Tensor::dense(Format::f32, {1, 1, kBefore + kKeys, kDepth});
    p.v = Tensor::dense(Format::f32, {1, 1, kBefore + kKeys, kWidth});
    p.q_start = {0, 1, 1 + kQueries};
    p.k_start = {0, kBefore, kBefore + kKeys};
    p.window_left = static_cast<std::int32_t>(kKeys - 7);
    p.plan = ChunkPlan::uniform(p.k_length(), p.k_length());
    for (std::int64_t j = 0; j < kBefore + kKeys; ++j) {
      const std::int64_t n = random.integer(0, kDistinct - 1);
      if (j >= kBefore) which.push_back(n);
      for (std::int64_t c = 0; c < kDepth; ++c) p.k.set_bits(j * kDepth + c, few.k.bits(n * kDepth + c));
      for (std::int64_t c = 0; c < kWidth; ++c) p.v.set_bits(j * kWidth + c, few.v.bits(n * kWidth + c));
    }
  }

  /// o and lse of query i of the second sequence.
  std::vector<Fine> exact(std::int64_t i) const {
    const AttentionProblem::Keys keys = p.visible_keys(1, i);
    std::vector<std::int64_t> count(kDistinct), example(kDistinct);
    for (std::int64_t j = std::max<std::int64_t>(keys.first, 0); j < keys.last; ++j) {
      ++count[which[j]];
      example[which[j]] = kBefore + j;
    }
    Fine total(0);
    std::vector<Fine> result(kWidth + 1, Fine(0));
    for (std::int64_t n = 0; n < kDistinct; ++n) {
      Fine dot(0);
      for (std::int64_t c = 0; c < kDepth; ++c) {
        dot += Fine(p.q.at({0, 0, 1 + i, c})) * Fine(p.k.at({0, 0, example[n], c}));
      }
      const Fine weight = exp(Fine(Fine(static_cast<double>(p.scale)) * dot)) * Fine(count[n]);
      total += weight;
      for (std::int64_t c = 0; c < kWidth; ++c) result[c] += weight * Fine(p.v.at({0, 0, example[n], c}));
    }
    for (std::int64_t c = 0; c < kWidth; ++c) result[c] /= total;
    result[kWidth] = log(total);
    return result;
  }
};

TEST(Fp64LongRows, AttentionInConstantMemory) {
  Random random(1, 960);
  const LongRows rows(random);
  ASSERT_NO_THROW(validate(rows.p));
  AttentionOptions options;
  options.pack_bytes = kMiB;
  options.chunk = 480;  // what is not a power of two
  Tier0 tier;
  tier.truth = Truth::sized(kQueries + 1, kWidth, Tier::fp64);
  tier.cause.resize(kQueries + 1);
  std::vector<std::int64_t> list(kQueries + 1);
  std::iota(list.begin(), list.end(), std::int64_t{0});
  const std::int64_t growth =
      growth_of([&] { fp64_attention(rows.p, list, Threads(1), tier.truth, tier.cause, options); });

  EnclosureCounts tally;
  const Fine tolerance = ldexp(Fine(1), -900);  // 200 exps at 996 bits
  for (std::int64_t i = 0; i < kQueries; ++i) {
    const std::vector<Fine> exact = rows.exact(i);
    const auto row = static_cast<std::size_t>(i + 1);
    for (std::size_t c = 0; c < kWidth; ++c) {
      attention64::check::judge(tier.truth.o[row * kWidth + c], exact[c], tolerance, 5.0, tally);
    }
    attention64::check::judge(tier.truth.lse[row], exact[kWidth], tolerance, 14.0, tally);
  }
  EXPECT_EQ(tally.elements, kQueries * (kWidth + 1));
  EXPECT_EQ(tally.violations + tally.wrong_class + tally.unbounded + tally.wide, 0);

  // What is packed at a time, the scratch of one task, the vectors of the rows; and 3 MiB for the library and the pages.
  // The scores of one row would be 8 MiB, those of the rows of a task 40 MiB, the keys as doubles 128 MiB.
  const std::int64_t padded = attention64::round_up(kWidth, attention64::kPanel);
  const std::int64_t needed =
      options.pack_bytes + 8 * (attention64::Scratch::doubles(options.chunk, kDepth, padded) + 32 * 3 * padded);
  std::printf("peak grew by %.1f MiB, derived %.1f MiB\n", static_cast<double>(growth) / kMiB,
              static_cast<double>(needed) / kMiB);
#ifndef FLASHPROOF_SANITIZED
  EXPECT_LE(growth, needed + 3 * kMiB);
#endif
}

TEST(Fp64LongRows, SoftmaxInTheMemoryOfItsResult) {
  constexpr std::int64_t kRows = 3;
  Random random(2, 960);
  std::vector<double> value(kDistinct);
  for (double& x : value) x = round_to(Format::f32, 4 * random.normal());
  SoftmaxProblem p;
  // Rows an odd number of elements apart.
  p.x = Tensor::strided(Format::f32, {kRows, kKeys}, {kKeys + 3, 1});
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t j = 0; j < kKeys; ++j) p.x.set({r, j}, value[random.integer(0, kDistinct - 1)]);
  }
  p.plan = ChunkPlan::uniform(kKeys, kKeys);
  Truth truth = Truth::sized(kRows, kKeys, Tier::fp64);
  std::vector<RowCause> cause(kRows);
  const std::vector<std::int64_t> rows = {0, 1, 2};
  const std::int64_t growth = growth_of([&] { fp64_softmax(p, rows, Threads(1), truth, cause); });

  EnclosureCounts tally;
  for (std::int64_t r = 0; r < kRows; ++r) {
    std::vector<std::int64_t> count(kDistinct);
    std::vector<std::size_t> example(kDistinct);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const std::int64_t n = std::find(value.begin(), value.end(), p.x.at({r, j})) - value.begin();
      ++count[n];
      example[n] = static_cast<std::size_t>(r * kKeys + j);
    }
    Fine total(0);
    for (std::int64_t n = 0; n < kDistinct; ++n) total += Fine(count[n]) * exp(Fine(value[n]));
    const Fine tolerance = ldexp(Fine(1), -900);
    for (std::int64_t n = 0; n < kDistinct; ++n) {
      if (count[n] == 0) continue;
      const Fine exact = exp(Fine(value[n])) / total;
      attention64::check::judge(truth.o[example[n]], exact, tolerance, exact.convert_to<double>(), tally);
    }
    attention64::check::judge(truth.lse[r], Fine(log(total)), tolerance, 14.0, tally);
  }
  EXPECT_GE(tally.elements, kRows * kDistinct / 2);
  EXPECT_EQ(tally.violations + tally.wrong_class + tally.unbounded + tally.wide, 0);
  // The result itself, value and radius, is touched here for the first time (or was, if Balls clears it).
  constexpr std::int64_t kResult = 2 * kRows * kKeys * static_cast<std::int64_t>(sizeof(double));
  std::printf("peak grew by %.1f MiB, the result is %.1f MiB\n", static_cast<double>(growth) / kMiB,
              static_cast<double>(kResult) / kMiB);
#ifndef FLASHPROOF_SANITIZED
  EXPECT_LE(growth, kResult + 2 * kMiB);  // a row more would be 4 MiB as f32, 8 MiB as doubles
#endif
}

}  // namespace
}  // namespace flashproof
