#include "reference/problem/random.h"

#include <Random123/philox.h>

namespace flashproof {

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
  const philox4x32_key_t k = {{key[0], key[1]}};
  const philox4x32_ctr_t block = philox4x32_R(10, c, k);
  return {block.v[0], block.v[1], block.v[2], block.v[3]};
}

Random::Random(std::uint64_t seed, std::uint64_t stream)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, stream_(stream) {}

/// philox4x32_10 of kBlocks counters; the constants are Random123's.
void Random::refill() {
  using Lanes = std::array<std::uint32_t, kBlocks>;
  constexpr std::uint64_t kMultiplier0 = 0xd2511f53, kMultiplier1 = 0xcd9e8d57;
  constexpr std::uint32_t kWeyl0 = 0x9e3779b9, kWeyl1 = 0xbb67ae85;
  constexpr int kRounds = 10;
  Lanes c0, c1, c2, c3;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t block = next_block_ + i;
    c0[i] = static_cast<std::uint32_t>(block);
    c1[i] = static_cast<std::uint32_t>(block >> 32);
    c2[i] = static_cast<std::uint32_t>(stream_);
    c3[i] = static_cast<std::uint32_t>(stream_ >> 32);
  }
  std::uint32_t k0 = key_[0], k1 = key_[1];
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = kMultiplier0 * c0[i], p1 = kMultiplier1 * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    word_[4 * i] = c0[i];
    word_[4 * i + 1] = c1[i];
    word_[4 * i + 2] = c2[i];
    word_[4 * i + 3] = c3[i];
  }
  next_block_ += kBlocks;
  used_ = 0;
}

std::int64_t Random::integer(std::int64_t lo, std::int64_t hi) {
  const std::uint64_t span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;  // 0: all of 2^64
  if (span == 0) return static_cast<std::int64_t>(next_u64());
  const std::uint64_t remainder = (0 - span) % span;  // 2^64 mod span
  while (true) {
    const std::uint64_t draw = next_u64();
    // The lowest `remainder` draws are left over when 2^64 is dealt out to span equal parts.
    if (draw >= remainder) return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + draw % span);
  }
}

bool Random::chance(double probability) { return uniform() < probability; }

double Random::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double Random::normal() {
  constexpr int kTerms = 12;
  std::uint64_t sum = kTerms / 2;  // twelve halves
  if (used_ <= kWords - kTerms) {
    for (int i = 0; i < kTerms; ++i) sum += word_[static_cast<std::size_t>(used_ + i)];
    used_ += kTerms;
  } else {
    for (int i = 0; i < kTerms; ++i) sum += next_u32();
  }
  return static_cast<double>(sum) * 0x1p-32 - 6.0;  // exact: the sum is below 2^36
}

}  // namespace flashproof
