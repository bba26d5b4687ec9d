// Philox4x32-10 (Salmon et al., SC'11; Random123) keyed by (seed, stream): draw n is a pure function of
// (seed, stream, n). Only integers and + − × ÷ √ fma are used, no libm, so the numbers are the same bits everywhere.
#pragma once

#include <array>
#include <cstdint>

namespace flashproof {

/// The block cipher itself: ten rounds.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Block b of a stream is philox4x32_10({b, stream}, seed), low words first; 32-bit draw n is word n mod 4 of block
/// n/4. Blocks are made kBlocks at a time, eight side by side where there is AVX2: a fuzzer's cases draw millions of numbers
/// a second.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream);

  std::uint32_t next_u32() {
    if (used_ == kWords) refill();
    return word_[static_cast<std::size_t>(used_++)];
  }
  std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | (std::uint64_t{next_u32()} << 32);
  }
  /// Uniform integer in [lo, hi], unbiased; lo <= hi. Takes 64-bit draws until one is accepted: two on average at most.
  std::int64_t integer(std::int64_t lo, std::int64_t hi);
  /// True with this probability; never for 0, always for 1.
  bool chance(double probability);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  /// Sum of 12 uniforms minus 6 (Irwin-Hall): mean 0, variance 1, within ±6. Not the normal law's tails. The uniforms
  /// are the midpoints (w + 1/2)/2^32 of 12 words, so that the sum is an exact integer and the law exactly symmetric.
  double normal();

 private:
  static constexpr int kBlocks = 24;  // of 4 words: 8 normal() of 12
  static constexpr int kWords = 4 * kBlocks;
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::uint64_t stream_;
  std::uint64_t next_block_ = 0;
  std::array<std::uint32_t, kWords> word_;  // nothing before the first refill()
  int used_ = kWords;
};

}  // namespace flashproof
