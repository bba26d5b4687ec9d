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

std::uint32_t Random::next_u32() {
  if (used_ == 4) {
    block_ = philox4x32_10({static_cast<std::uint32_t>(block_index_), static_cast<std::uint32_t>(block_index_ >> 32),
                            static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                           key_);
    ++block_index_;
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Random::next_u64() {
  const std::uint64_t low = next_u32();
  return low | (std::uint64_t{next_u32()} << 32);
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
  std::uint64_t sum = 6;  // twelve halves
  for (int i = 0; i < 12; ++i) sum += next_u32();
  return static_cast<double>(sum) * 0x1p-32 - 6.0;  // exact: the sum is below 2^36
}

}  // namespace flashproof
