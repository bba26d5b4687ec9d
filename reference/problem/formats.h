// Number formats as bits: exact decode to double, explicit round-to-nearest-even encode from double.
//
// No conversion instruction and no floating-point environment is involved: bits in, bits out, so that subnormals
// survive a machine with DAZ set, and kernels on the CPU executor store what a GPU stores. Header only: with a constant
// format the table folds away, and kernels call these once per f16 or bf16 element.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace flashproof {

enum class Format : std::uint8_t { f64, f32, f16, bf16, e4m3fn, e5m2 };
inline constexpr Format kAllFormats[] = {Format::f64,  Format::f32,    Format::f16,
                                         Format::bf16, Format::e4m3fn, Format::e5m2};

/// What encode returns for a value beyond the largest finite one after rounding, ±inf included (the two conversion
/// modes of the OCP 8-bit specification, and of CUDA). ieee: ±inf, and NaN in e4m3fn, which has no infinity.
/// saturate: the largest finite value of that sign. NaN stays NaN in both.
enum class Overflow : std::uint8_t { ieee, saturate };

struct FormatInfo {
  std::string_view name;         // "f32"
  std::string_view safetensors;  // "F32"
  int bits;                      // storage width
  int precision;                 // significand bits with the hidden one
  int min_exponent;              // of the smallest normal number: 2^min_exponent
  bool has_infinity;
  double max_finite;
};

/// See the definitions for the table. All functions here are total: bits above the storage width are ignored.
constexpr const FormatInfo& info(Format format);
constexpr int bytes_of(Format format) { return info(format).bits / 8; }
constexpr double unit_roundoff(Format format);  // 2^-precision
constexpr double min_normal(Format format);
inline constexpr double kMinNormal = 0x1p-126;  // of f32
constexpr double min_subnormal(Format format);  // spacing of the subnormals
std::optional<Format> parse_format(std::string_view name);

constexpr std::uint64_t sign_bit(Format format) { return std::uint64_t{1} << (info(format).bits - 1); }
/// The largest finite value. The next pattern is +inf, in e4m3fn NaN.
constexpr std::uint64_t max_finite_bits(Format format);
/// The NaN that encode returns, for a negative NaN too: sign 0, every other bit 1, as CUDA's conversions to f16 and
/// bf16 and the hardware's to fp8 store it.
constexpr std::uint64_t nan_bits(Format format) { return sign_bit(format) - 1; }

constexpr double decode(Format format, std::uint64_t bits);
constexpr std::uint64_t encode(Format format, double value, Overflow overflow = Overflow::ieee);
constexpr double round_to(Format format, double value) { return decode(format, encode(format, value)); }

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr FormatInfo kFormats[] = {
    {"f64", "F64", 64, 53, -1022, true, std::numeric_limits<double>::max()},
    {"f32", "F32", 32, 24, -126, true, 0x1.fffffep127},
    {"f16", "F16", 16, 11, -14, true, 65504.0},
    {"bf16", "BF16", 16, 8, -126, true, 0x1.fep127},
    {"e4m3fn", "F8_E4M3", 8, 4, -6, false, 448.0},
    {"e5m2", "F8_E5M2", 8, 3, -14, true, 57344.0},
};

inline constexpr int kDoubleFraction = 52;  // fraction bits of a double
inline constexpr int kDoubleBias = 1023;
inline constexpr std::uint64_t kDoubleHidden = std::uint64_t{1} << kDoubleFraction;
inline constexpr std::uint64_t kDoubleSign = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleFraction;

constexpr double power_of_two(int exponent) {  // of a normal double
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleFraction);
}

}  // namespace detail

constexpr const FormatInfo& info(Format format) { return detail::kFormats[static_cast<int>(format)]; }

constexpr double unit_roundoff(Format format) { return detail::power_of_two(-info(format).precision); }
constexpr double min_normal(Format format) { return detail::power_of_two(info(format).min_exponent); }
constexpr double min_subnormal(Format format) { return decode(format, 1); }

inline std::optional<Format> parse_format(std::string_view name) {
  for (Format format : kAllFormats) {
    if (info(format).name == name) return format;
  }
  return std::nullopt;
}

constexpr std::uint64_t max_finite_bits(Format format) {
  const FormatInfo& f = info(format);
  if (!f.has_infinity) return nan_bits(format) - 1;
  const std::uint64_t fraction = (std::uint64_t{1} << (f.precision - 1)) - 1;
  return nan_bits(format) - fraction - 1;  // infinity is the exponent of all ones with fraction 0
}

constexpr double decode(Format format, std::uint64_t bits) {
  using namespace detail;
  const FormatInfo& f = info(format);
  std::uint64_t magnitude = bits & (sign_bit(format) - 1);
  const std::uint64_t sign = (bits & sign_bit(format)) << (64 - f.bits);
  if (magnitude > max_finite_bits(format)) {
    const bool infinite = f.has_infinity && magnitude == max_finite_bits(format) + 1;
    return infinite ? std::bit_cast<double>(sign | kDoubleInfinity) : std::numeric_limits<double>::quiet_NaN();
  }
  if (format == Format::f64) return std::bit_cast<double>(bits);

  const int widen = kDoubleFraction - (f.precision - 1);  // how far the fraction field moves up
  const std::uint64_t hidden = std::uint64_t{1} << (f.precision - 1);
  int exponent = f.min_exponent;
  if (magnitude < hidden) {  // a multiple of the smallest subnormal: normalise, a double has room for it
    if (magnitude == 0) return std::bit_cast<double>(sign);
    const int shift = f.precision - std::bit_width(magnitude);
    magnitude <<= shift;  // the leading one now stands where the hidden bit of exponent field 1 stands
    exponent -= shift;
  }
  // Fields of both formats are adjacent, exponent above fraction: one shift moves both, one addition changes the bias.
  const std::uint64_t rebias = static_cast<std::uint64_t>(exponent + kDoubleBias - 1) << kDoubleFraction;
  return std::bit_cast<double>(sign | ((magnitude << widen) + rebias));
}

constexpr std::uint64_t encode(Format format, double value, Overflow overflow) {
  using namespace detail;
  const FormatInfo& f = info(format);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~kDoubleSign;
  const std::uint64_t sign = (bits & kDoubleSign) >> (64 - f.bits);
  if (magnitude > kDoubleInfinity) return nan_bits(format);

  std::uint64_t rounded = magnitude;
  if (format != Format::f64) {
    // value = significand · 2^(exponent − 52). A subnormal double is below half the smallest number of every narrower
    // format; reading it with a hidden bit it does not have keeps it there, so it still rounds to 0.
    const int exponent = static_cast<int>(magnitude >> kDoubleFraction) - kDoubleBias;
    const std::uint64_t significand = (magnitude & (kDoubleHidden - 1)) | kDoubleHidden;
    const int below = exponent < f.min_exponent ? f.min_exponent - exponent : 0;  // subnormal result: fewer bits
    const int above = exponent < f.min_exponent ? 0 : exponent - f.min_exponent;
    // Dropping 54 bits or more of a 53-bit significand leaves less than half a unit: 0, and a shift by 54 says so.
    const int dropped = (kDoubleFraction + 1 - f.precision) + below;
    const int drop = dropped < 54 ? dropped : 54;
    const std::uint64_t odd = (significand >> drop) & 1;
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    // To nearest, ties to even: half − 1 + odd carries into the kept bits exactly when rounding goes up.
    rounded = (significand + (half - 1) + odd) >> drop;
    // The hidden bit, or a carry out of the fraction, adds one to the exponent field, as it must.
    rounded += static_cast<std::uint64_t>(above) << (f.precision - 1);
  }
  if (rounded > max_finite_bits(format)) {
    if (overflow == Overflow::saturate) return sign | max_finite_bits(format);
    return f.has_infinity ? sign | (max_finite_bits(format) + 1) : nan_bits(format);
  }
  return sign | rounded;
}

}  // namespace flashproof
