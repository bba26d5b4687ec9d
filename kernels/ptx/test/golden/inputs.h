// The inputs of golden forms: 8,192 triples of each class, the same on every machine. First every pair of 24 nasty numbers, then
// random bits, a quarter of them with a nasty number in it, a quarter near 1, where sums cancel and ties are frequent.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flashproof::ptx::golden {

constexpr std::size_t kInputs = 8192;
using Triple = std::array<std::uint64_t, 3>;

/// What the numbers are nasty for; f16 and bf16 are pairs in 32 bits. _tiny: operands with a product, fused sum or quotient just
/// below the least normal number, and doubles just below that of f32.
enum class InputClass : std::uint8_t { f16, bf16, f32, f64, integer, f16_tiny, f32_tiny, f64_tiny };

constexpr std::size_t kNasty = 24;
/// Zeros, subnormals, the least normal numbers, 1 and its neighbour, the largest, infinities, NaN of both kinds, ties.
constexpr std::uint64_t kNastyNumbers[][kNasty] = {
    {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x8400, 0x3c00, 0xbc00, 0x3bff, 0x7bff, 0xfbff,
     0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0xffff, 0x4700, 0x50a0, 0x53e0, 0x5410, 0x3800, 0x7fff},
    {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x8080, 0x3f80, 0xbf80, 0x3f7f, 0x7f7f, 0xff7f,
     0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0xffff, 0x40e0, 0x4214, 0x427c, 0x4282, 0x3f00, 0x7fff},
    {0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,   0x80800000, 0x3f800000,
     0xbf800000, 0x3f7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
     0x7f800001, 0xffffffff, 0x477fefff, 0x477ff000, 0x33000000, 0x7e800001, 0x5f000000, 0x7fffffff},
    {0,
     0x8000000000000000,
     1,
     0x8000000000000001,
     0xfffffffffffff,
     0x10000000000000,
     0x8010000000000000,
     0x3ff0000000000000,
     0xbff0000000000000,
     0x3fefffffffffffff,
     0x7fefffffffffffff,
     0xffefffffffffffff,
     0x7ff0000000000000,
     0xfff0000000000000,
     0x7ff8000000000000,
     0xfff8000000000001,
     0x7ff0000000000001,
     0xffffffffffffffff,
     0x7ff8000012345678,
     0xfff0000000000123,
     0x3800000000000000,
     0x47efffffefffffff,
     0x43e0000000000000,
     0x40effdffffffffff},
    {0,
     1,
     2,
     0x7f,
     0x80,
     0xff,
     0x7fff,
     0x8000,
     0xffff,
     65504,
     65519,
     65520,
     0x7fffffff,
     1U << 31,
     0xffffffff,
     0x1000001,
     (1ULL << 53) - 1,
     (1ULL << 53) + 1,
     ~0ULL >> 1,
     1ULL << 63,
     ~0ULL,
     ~0ULL << 1,
     0x8000000000000001,
     0x101}};

/// SplitMix64.
class Random {
 public:
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_ = 1;
};

/// The same sign and fraction, between 1/2 and 2, of f16 up to 3.
constexpr std::uint64_t near_one(InputClass inputs, std::uint64_t x) {
  switch (inputs) {
    case InputClass::f16:
      return (x & 0x83ff83ff) | 0x3c003c00 | (x >> 40 & 0x04000400);
    case InputClass::bf16:
      return (x & 0x807f807f) | 0x3f803f80;
    case InputClass::f32:
      return (x & 0x80ffffff) | 0x3f000000;
    case InputClass::f64:
      return (x & 0x801fffffffffffff) | 0x3fe0000000000000;
    default:
      return x;
  }
}

/// a b + c is 2^-14 less up to 3 units of b; c is zero, or negative and below 2^-13.
constexpr Triple tiny_f16(std::uint64_t random, bool sum) {
  const std::uint64_t a = 1024 + (random & 1023);
  const std::uint64_t c = sum ? 1024 + (random >> 10 & 1023) : 0, product = 1024 + c;
  const std::uint64_t exponent = product <= a ? 1 : product < 2 * a ? 2 : 3;
  const std::uint64_t b = (exponent << 10) + (product << (12 - exponent)) / a - 1023 - (random >> 20 & 3);
  const std::uint64_t sign = random >> 16 & 0x8000;
  return {(0x3800 + a - 1024) ^ sign, b, (sum ? 0x8000 + c : 0) ^ sign};
}

/// The same around 2^-126; every fourth is a quotient a / b.
inline Triple tiny_f32(std::uint64_t random, std::size_t i) {
  const auto a = static_cast<std::uint32_t>(random & 0x7fffff);
  const std::uint32_t step = random >> 46 & 3, sign = random >> 32 & 0x80000000;
  if (i % 4 == 3) return {(0x800000 | a) ^ sign, 0x3f800000 + a + step, 0};
  const std::uint32_t c = i % 4 == 2 ? 0x80800000 | (random >> 23 & 0x7fffff) : 0, factor = 0x3f000000 | a;
  const double product = 0x1p-126 - static_cast<double>(std::bit_cast<float>(c));
  const auto b = static_cast<float>(product / static_cast<double>(std::bit_cast<float>(factor)));
  return {factor ^ sign, std::bit_cast<std::uint32_t>(b) + 1 - step, c ^ sign};
}

inline std::vector<Triple> tiny_inputs_of(InputClass inputs) {
  Random random;
  std::vector<Triple> triples(kInputs);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::uint64_t x = random(), y = random();
    if (inputs == InputClass::f32_tiny) {
      triples[i] = tiny_f32(x, i);
    } else if (inputs == InputClass::f64_tiny) {
      triples[i].fill(((0x381ULL << 52) - (x >> (35 + i % 4))) | (y & 1) << 63);
    } else {
      const Triple low = tiny_f16(x, i % 2 == 1), high = tiny_f16(y, i % 2 == 1);
      for (std::size_t k = 0; k < 3; ++k) triples[i][k] = low[k] | high[k] << 16;
    }
  }
  return triples;
}

inline std::vector<Triple> inputs_of(InputClass inputs) {
  constexpr std::size_t kPairs = kNasty * kNasty;
  if (inputs >= InputClass::f16_tiny) return tiny_inputs_of(inputs);
  const auto& nasty = kNastyNumbers[static_cast<std::size_t>(inputs)];
  const bool halves = inputs == InputClass::f16 || inputs == InputClass::bf16;
  Random random;
  std::vector<Triple> triples(kInputs);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::size_t pair[] = {i / kNasty, i % kNasty, (i * 7 + i / kNasty) % kNasty};
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint64_t x = i < kPairs ? nasty[pair[k]] : random();
      if (i >= kPairs && i % 4 == 1) x = nasty[random() % kNasty];
      if (i >= kPairs && i % 4 == 2) x = near_one(inputs, x);
      if (halves) x = (x & 0xffff) | (i < kPairs ? nasty[(i * 5 + k) % kNasty] : random() & 0xffff) << 16;
      triples[i][k] = inputs == InputClass::f32 ? x & 0xffffffff : x;
    }
  }
  return triples;
}

}  // namespace flashproof::ptx::golden
