#include "reference/problem/random.h"

#include <Random123/philox.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace flashproof {

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
  const philox4x32_key_t k = {{key[0], key[1]}};
  const philox4x32_ctr_t block = philox4x32_R(10, c, k);
  return {block.v[0], block.v[1], block.v[2], block.v[3]};
}

Random::Random(std::uint64_t seed, std::uint64_t stream)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, stream_(stream) {}

namespace {

// Random123's constants.
constexpr std::uint32_t kMultiplier0 = 0xd2511f53, kMultiplier1 = 0xcd9e8d57;
constexpr std::uint32_t kWeyl0 = 0x9e3779b9, kWeyl1 = 0xbb67ae85;
constexpr int kRounds = 10;

#ifdef __AVX2__

/// philox4x32_10 of eight counters {first + i, stream}. A word stands in the low half of a lane of 64 bits; what is in the
/// high halves never counts, because the products take the low ones.
void philox_8(std::uint64_t first, std::uint64_t stream, std::array<std::uint32_t, 2> key, std::uint32_t* words) {
  __m256i c0[2], c1[2], c2[2], c3[2];
  const auto wide = [](std::uint64_t x) { return _mm256_set1_epi64x(static_cast<std::int64_t>(x)); };
  for (int h = 0; h < 2; ++h) {
    c0[h] = _mm256_add_epi64(wide(first + 4 * static_cast<std::uint64_t>(h)), _mm256_set_epi64x(3, 2, 1, 0));
    c1[h] = _mm256_srli_epi64(c0[h], 32);
    c2[h] = wide(stream);
    c3[h] = wide(stream >> 32);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int h = 0; h < 2; ++h) {
      const __m256i p0 = _mm256_mul_epu32(c0[h], wide(kMultiplier0));
      const __m256i p1 = _mm256_mul_epu32(c2[h], wide(kMultiplier1));
      c0[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[h]), wide(key[0]));
      c2[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[h]), wide(key[1]));
      c1[h] = p1;
      c3[h] = p0;
    }
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  for (int h = 0; h < 2; ++h) {
    const __m256i low = _mm256_blend_epi32(c0[h], _mm256_slli_epi64(c1[h], 32), 0xaa);
    const __m256i high = _mm256_blend_epi32(c2[h], _mm256_slli_epi64(c3[h], 32), 0xaa);
    const __m256i even = _mm256_unpacklo_epi64(low, high);  // blocks 0 and 2
    const __m256i odd = _mm256_unpackhi_epi64(low, high);
    auto* to = reinterpret_cast<__m256i*>(words + 16 * h);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
}

#else

void philox_8(std::uint64_t first, std::uint64_t stream, std::array<std::uint32_t, 2> key, std::uint32_t* words) {
  for (std::uint64_t block = first; block < first + 8; ++block) {
    for (const std::uint32_t word :
         philox4x32_10({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                       key)) {
      *words++ = word;
    }
  }
}

#endif

}  // namespace

void Random::refill() {
  for (std::size_t b = 0; b < std::size_t{kBlocks}; b += 8)
    philox_8(next_block_ + b, stream_, key_, word_.data() + 4 * b);
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
  constexpr std::size_t kTerms = 12;
  std::uint64_t sum = kTerms / 2;  // twelve halves
  const auto used = static_cast<std::size_t>(used_);
  if (used + kTerms <= word_.size()) {
    for (std::size_t i = 0; i < kTerms; ++i) sum += word_[used + i];
    used_ += static_cast<int>(kTerms);
  } else {
    for (std::size_t i = 0; i < kTerms; ++i) sum += next_u32();
  }
  return static_cast<double>(sum) * 0x1p-32 - 6.0;  // exact: the sum is below 2^36
}

}  // namespace flashproof
