// For the tests of det_math.h: every f32 pattern goes through a function and is compared with a truth in double.
//
// Where the answer is one constant (1 around 0, 0, infinity, NaN) only its bits are compared. Elsewhere the truth comes
// from few calls of an exact function, so that the sweep costs about as much as the function under test:
//   exp:  x = h + l exactly, h the pattern with the low 12 bits cleared; e^x = e^h · e^l, 8192 calls per binade.
//   log:  x = 2^e · m; ln x = e·ln 2 + ln m, one call per m.
// Error of the truth, if the exact function errs by at most 1 ulp of double (2^-52 relative; the glibc manual, "Known
// Maximum Errors in Math Functions", has 1 ulp for exp, exp2, log and log2 in double on x86-64):
//   exp:  (1 + 2^-52)^2 (1 + 2^-53) − 1 < 2^-50.
//   log:  with √½ ≤ m < √2, |ln m| ≤ ½ ln 2, so nothing cancels: |ln x| ≥ ½ |e| ln 2 for e ≠ 0. Errors: the constant
//         ln 2 and (without fma) the product, 2^-53 |e| ln 2 each; ln m, 2^-52 · ½ ln 2; the sum, 2^-53 |ln x|.
//         Relative to |ln x|: 2·2^-53·2 + 2^-52 + 2^-53 = 7 · 2^-53 < 2^-50. log2: the same with 1 for ln 2. For e = 0:
//         2^-52.
// So kTruthSlack = 2^-50 (2^-26 of an f32 rounding error), plus 2^-53 for the subtraction and division that form the
// measured error: those act on the error itself, ≤ 2^-22, so they add less than 2^-74, which the margin covers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace flashproof::det_test {

inline constexpr double kTruthSlack = 0x1p-50;
inline constexpr std::uint32_t kBlock = 4096;
inline constexpr std::uint32_t kBinade = 1u << 23;

inline float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t to_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

struct Sample {
  double error;
  float x;
  bool operator<(const Sample& other) const { return error > other.error; }  // a heap with the smallest on top
};

/// The worst inputs of one function in one range of results. A NaN error counts as the largest.
class Worst {
 public:
  /// Errors up to here need not be added.
  double floor() const { return samples_.size() == kKept ? samples_.front().error : 0; }

  void add(double error, float x) {
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (samples_.size() == kKept) {
      if (error <= samples_.front().error) return;
      std::pop_heap(samples_.begin(), samples_.end());
      samples_.pop_back();
    }
    samples_.push_back({error, x});
    std::push_heap(samples_.begin(), samples_.end());
  }

  const std::vector<Sample>& samples() const { return samples_; }
  Sample worst() const { return *std::min_element(samples_.begin(), samples_.end()); }

 private:
  static constexpr std::size_t kKept = 1000;
  std::vector<Sample> samples_;
};

struct Result {
  Worst normal;     // relative error, where |truth| ≥ 2^-126
  Worst subnormal;  // absolute error in units of 2^-149, elsewhere
  std::uint64_t patterns = 0;
  std::uint64_t wrong_constants = 0;  // of those patterns whose answer is one constant
  float wrong_constant_at = 0;
};

/// Patterns first … first + count − 1 must all give `expected`, bit for bit.
template <class F>
void expect_constant(F f, std::uint32_t first, std::uint64_t count, std::uint32_t expected, Result& result) {
  for (std::uint64_t base = 0; base < count; base += kBlock) {
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlock, count - base));
    const std::uint32_t from = first + static_cast<std::uint32_t>(base);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < size; ++i) wrong += to_bits(f(from_bits(from + i))) != expected ? 1 : 0;
    if (wrong != 0 && result.wrong_constants == 0) {
      std::uint32_t i = 0;
      while (to_bits(f(from_bits(from + i))) == expected) ++i;
      result.wrong_constant_at = from_bits(from + i);
    }
    result.wrong_constants += wrong;
  }
  result.patterns += count;
}

/// Relative error of y. An infinite y stands for 2^128: right for every truth from there on, and within the bound of a
/// truth just below.
inline double relative_error(float y, double truth) {
  const bool infinite = y > std::numeric_limits<float>::max();
  const double value = infinite ? 0x1p128 : static_cast<double>(y);
  const double target = infinite && truth > 0x1p128 ? 0x1p128 : truth;
  return std::fabs(value - target) / std::fabs(target);
}

/// A block of consecutive patterns with their results and truths. The first loop is vectorised and nearly always says
/// that nothing here is worse than what is known; it errs, if at all, by a few 2^-53 at the floor.
struct Block {
  std::array<float, kBlock> y;
  std::array<double, kBlock> truth;

  void judge(std::uint32_t first, Result& result) const {
    const double relative = result.normal.floor(), absolute = result.subnormal.floor() * 0x1p-149;
    std::uint32_t suspects = 0;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const double size = std::fabs(truth[i]);
      const double allowed = size >= 0x1p-126 ? relative * size : absolute;
      suspects += std::fabs(y[i] - truth[i]) <= allowed ? 0 : 1;  // NaN is a suspect
    }
    result.patterns += kBlock;
    if (suspects == 0) return;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const float x = from_bits(first + i);
      if (std::fabs(truth[i]) >= 0x1p-126) {
        result.normal.add(relative_error(y[i], truth[i]), x);
      } else {
        result.subnormal.add(std::fabs(y[i] - truth[i]) * 0x1p149, x);
      }
    }
  }
};

/// One binade of arguments of exp or exp2.
template <class F, class Exact>
void sweep_exp_binade(F f, Exact exact, std::uint32_t first, Result& result) {
  std::array<double, kBlock> low;
  Block block;
  const double start = from_bits(first);
  for (std::uint32_t i = 0; i < kBlock; ++i) low[i] = exact(from_bits(first + i) - start);
  for (std::uint32_t base = first; base != first + kBinade; base += kBlock) {
    const double high = exact(from_bits(base));
    for (std::uint32_t i = 0; i < kBlock; ++i) block.y[i] = f(from_bits(base + i));
    for (std::uint32_t i = 0; i < kBlock; ++i) block.truth[i] = high * low[i];
    block.judge(base, result);
  }
}

/// Every pattern of exp or exp2. |x| < 2^-26 gives 1 (the neighbours of 1 are 2^-24 and 2^-23 away), x ≥ 128 infinity,
/// x ≤ −256 zero.
template <class F, class Exact>
Result sweep_exp(F f, Exact exact) {
  constexpr std::uint32_t kOne = 0x3f800000, kInfinity = 0x7f800000, kNan = 0x7fffffff, kMinus = 0x80000000;
  constexpr std::uint32_t kSmall = (127 - 26) * kBinade, k128 = (127 + 7) * kBinade, k256 = (127 + 8) * kBinade;
  Result result;
  expect_constant(f, 0, kSmall, kOne, result);
  for (std::uint32_t base = kSmall; base < k128; base += kBinade) sweep_exp_binade(f, exact, base, result);
  expect_constant(f, k128, kInfinity + 1 - k128, kInfinity, result);
  expect_constant(f, kInfinity + 1, kMinus - kInfinity - 1, kNan, result);
  expect_constant(f, kMinus, kSmall, kOne, result);
  for (std::uint32_t base = kSmall; base < k256; base += kBinade) sweep_exp_binade(f, exact, kMinus + base, result);
  expect_constant(f, kMinus + k256, kInfinity + 1 - k256, 0, result);
  expect_constant(f, kMinus + kInfinity + 1, kMinus - kInfinity - 1, kNan, result);
  return result;
}

/// All normal x with the mantissas first … first + 4095, given as patterns in [1, 2). `unit` is the logarithm of 2.
template <class F, class Exact>
void sweep_log_mantissas(F f, Exact exact, double unit, std::uint32_t first, Result& result) {
  std::array<double, kBlock> log_m, carry;
  Block block;
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const double m = from_bits(first + i);
    carry[i] = m < std::numbers::sqrt2 ? 0 : 1;
    log_m[i] = exact(m < std::numbers::sqrt2 ? m : 0.5 * m);
  }
  for (int e = -126; e <= 127; ++e) {
    const std::uint32_t base = first + static_cast<std::uint32_t>(e) * kBinade;
    for (std::uint32_t i = 0; i < kBlock; ++i) block.y[i] = f(from_bits(base + i));
    for (std::uint32_t i = 0; i < kBlock; ++i) block.truth[i] = (e + carry[i]) * unit + log_m[i];
    block.judge(base, result);
  }
}

/// Every pattern of log or log2.
template <class F, class Exact>
Result sweep_log(F f, Exact exact, double unit) {
  constexpr std::uint32_t kOne = 0x3f800000, kInfinity = 0x7f800000, kNan = 0x7fffffff, kMinus = 0x80000000;
  Result result;
  expect_constant(f, 0, 1, kMinus + kInfinity, result);
  Block block;
  for (std::uint32_t base = 0; base < kBinade; base += kBlock) {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const std::uint32_t bits = std::max(base + i, 1u);  // 0 has had its turn
      block.y[i] = f(from_bits(bits));
      block.truth[i] = exact(from_bits(bits));
    }
    block.judge(base, result);
  }
  result.patterns -= 1;
  for (std::uint32_t base = kOne; base < kOne + kBinade; base += kBlock)
    sweep_log_mantissas(f, exact, unit, base, result);
  expect_constant(f, kInfinity, 1, kInfinity, result);
  expect_constant(f, kInfinity + 1, kMinus - kInfinity - 1, kNan, result);
  expect_constant(f, kMinus, 1, kMinus + kInfinity, result);
  expect_constant(f, kMinus + 1, kMinus - 1, kNan, result);
  return result;
}

}  // namespace flashproof::det_test
