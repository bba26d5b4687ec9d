#include "reference/error/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

[[noreturn]] void malformed(std::string_view text) {
  throw UsageError("exact sum: " + quote(text.substr(0, 40)) +
                   " is not \"nan\", \"0\" or [-]<limb>.<8 hex digits per limb>");
}

}  // namespace

void ExactSum::merge(const ExactSum& other) {
  nan_ = nan_ || other.nan_;
  if (pending_ + other.pending_ + 1 > kPendingLimit) {
    normalize();
    ExactSum carried = other;
    carried.normalize();
    for (std::size_t i = 0; i < kLimbs; ++i) limb_[i] += carried.limb_[i];
    pending_ += carried.pending_;
    return;
  }
  for (std::size_t i = 0; i < kLimbs; ++i) limb_[i] += other.limb_[i];
  pending_ += other.pending_;
}

/// Every limb but the top one in [0, 2^32); the top one carries the sign.
void ExactSum::normalize() {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
    const std::int64_t limb = limb_[i] + carry;
    limb_[i] = limb & kLow32;
    carry = limb >> 32;  // floor: C++20 shifts are arithmetic
  }
  limb_[kLimbs - 1] += carry;
  pending_ = 1;  // what is left counts as one addition: every limb is below 2^32
}

ExactSum::Magnitude ExactSum::magnitude() const {
  ExactSum sum = *this;
  sum.normalize();
  Magnitude result;
  result.negative = sum.limb_[kLimbs - 1] < 0;
  if (result.negative) {
    for (auto& limb : sum.limb_) limb = -limb;
    sum.normalize();
  }
  for (std::size_t i = 0; i < kLimbs; ++i) {
    result.limb[i] = static_cast<std::uint32_t>(sum.limb_[i]);
    if (result.limb[i] != 0) {
      result.highest_bit = static_cast<int>(i) * 32 + 31 - std::countl_zero(result.limb[i]);
    }
  }
  return result;
}

std::uint64_t ExactSum::Magnitude::bits(int from) const {
  const auto i = static_cast<std::size_t>(from / 32);
  const int shift = from % 32;
  std::uint64_t word = (limb[i] | std::uint64_t{limb[i + 1]} << 32) >> shift;
  if (shift != 0) word |= std::uint64_t{limb[i + 2]} << (64 - shift);
  return word;
}

bool ExactSum::Magnitude::any_below(int bit) const {
  for (int i = 0; i < bit / 32; ++i) {
    if (limb[static_cast<std::size_t>(i)] != 0) return true;
  }
  return (limb[static_cast<std::size_t>(bit / 32)] & ((std::uint64_t{1} << bit % 32) - 1)) != 0;
}

double ExactSum::value() const {
  if (nan_) return std::numeric_limits<double>::quiet_NaN();
  const Magnitude sum = magnitude();
  if (sum.highest_bit < 0) return 0.0;
  const double sign = sum.negative ? -1.0 : 1.0;
  const int exponent = sum.highest_bit - kBias;
  if (exponent > 1023) return sign * std::numeric_limits<double>::infinity();
  // The significand's lowest bit: 53 bits, or down to 2^-1074, below which the accumulator holds nothing.
  const int lowest = std::max(exponent - 52, -1074) + kBias;
  std::uint64_t significand = sum.bits(lowest);
  const bool half = (sum.bits(lowest - 1) & 1) != 0;
  if (half && ((significand & 1) != 0 || sum.any_below(lowest - 1))) ++significand;
  return sign * std::ldexp(static_cast<double>(significand), lowest - kBias);  // exact, or overflows to inf
}

double ExactSum::value_to_odd() const {
  if (nan_) return std::numeric_limits<double>::quiet_NaN();
  const Magnitude sum = magnitude();
  if (sum.highest_bit < 0) return 0.0;
  const double sign = sum.negative ? -1.0 : 1.0;
  const int exponent = sum.highest_bit - kBias;
  if (exponent > 1023) return sign * std::numeric_limits<double>::max();
  const int lowest = std::max(exponent - 52, -1074) + kBias;
  std::uint64_t significand = sum.bits(lowest);
  if (sum.any_below(lowest)) significand |= 1;
  return sign * std::ldexp(static_cast<double>(significand), lowest - kBias);
}

bool ExactSum::operator==(const ExactSum& other) const {
  if (nan_ || other.nan_) return nan_ == other.nan_;
  ExactSum a = *this, b = other;
  a.normalize();
  b.normalize();
  return a.limb_ == b.limb_;
}

std::string ExactSum::serialize() const {
  if (nan_) return "nan";
  const Magnitude sum = magnitude();
  if (sum.highest_bit < 0) return "0";
  std::size_t low = 0;
  while (sum.limb[low] == 0) ++low;
  std::string text;
  if (sum.negative) text += '-';
  text += std::to_string(low);
  text += '.';
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = low; i <= static_cast<std::size_t>(sum.highest_bit) / 32; ++i) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[sum.limb[i] >> shift & 0xf];
  }
  return text;
}

ExactSum ExactSum::deserialize(std::string_view text) {
  ExactSum sum;
  if (text == "0") return sum;
  if (text == "nan") {
    sum.nan_ = true;
    return sum;
  }
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const std::size_t dot = rest.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > 2) malformed(text);
  std::size_t index = 0;
  for (const char c : rest.substr(0, dot)) {
    if (c < '0' || c > '9') malformed(text);
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  rest.remove_prefix(dot + 1);
  if (rest.empty() || rest.size() % 8 != 0 || index + rest.size() / 8 >= kLimbs) malformed(text);
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) malformed(text);
    std::int64_t& limb = sum.limb_[index + at / 8];
    limb = limb * 16 + digit;
  }
  if (negative) {
    for (auto& limb : sum.limb_) limb = -limb;
  }
  sum.normalize();
  if (sum.serialize() != text) malformed(text);  // zero limbs at an end, "00." and the like: one text per sum
  return sum;
}

}  // namespace flashproof
