// Formats against the host conversions of the CUDA headers: every 8- and 16-bit pattern one way, every midpoint and its
// neighbours the other way. Built only where the toolkit is present; needs no GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/problem/formats.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

double cuda_decode(Format format, std::uint64_t bits) {
  __half_raw half{};
  switch (format) {
    case Format::f16:
      half.x = static_cast<unsigned short>(bits);
      break;
    case Format::e4m3fn:
      half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3);
      break;
    case Format::e5m2:
      half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E5M2);
      break;
    default: {
      __nv_bfloat16_raw raw{};
      raw.x = static_cast<unsigned short>(bits);
      return __bfloat162float(__nv_bfloat16(raw));
    }
  }
  return __half2float(__half(half));
}

std::uint64_t cuda_encode(Format format, double x, Overflow overflow) {
  const __nv_saturation_t mode = overflow == Overflow::saturate ? __NV_SATFINITE : __NV_NOSAT;
  switch (format) {
    case Format::f16:
      return __half_raw(__double2half(x)).x;
    case Format::e4m3fn:
      return __nv_cvt_double_to_fp8(x, mode, __NV_E4M3);
    case Format::e5m2:
      return __nv_cvt_double_to_fp8(x, mode, __NV_E5M2);
    default:
      return __nv_bfloat16_raw(__double2bfloat16(x)).x;
  }
}

/// Equal bits; two NaN agree in fp8, where the headers keep the sign (and 0x7e for e5m2) and the hardware does not.
bool agree(Format format, std::uint64_t a, std::uint64_t b) {
  return a == b || (info(format).bits == 8 && std::isnan(decode(format, a)) && std::isnan(decode(format, b)));
}

class FormatsCuda : public testing::TestWithParam<Format> {
 protected:
  bool has_saturation() const { return info(GetParam()).bits == 8; }  // the 16-bit conversions have no such mode
};

TEST_P(FormatsCuda, EveryPatternDecodes) {
  const Format format = GetParam();
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << info(format).bits; ++bits) {
    const double ours = decode(format, bits), theirs = cuda_decode(format, bits);
    const bool equal =
        std::isnan(ours) ? std::isnan(theirs) : ours == theirs && std::signbit(ours) == std::signbit(theirs);
    ASSERT_TRUE(equal) << std::hex << bits << ": " << ours << " and " << theirs;
  }
}

TEST_P(FormatsCuda, EveryMidpointAndItsNeighboursEncode) {
  const Format format = GetParam();
  std::int64_t wrong = 0, checked = 0;
  double first = 0;
  const auto check = [&](double centre) {
    for (double x : {centre, std::nextafter(centre, kInfinity), std::nextafter(centre, -kInfinity)}) {
      for (double y : {x, -x}) {
        for (Overflow overflow : {Overflow::ieee, Overflow::saturate}) {
          if (overflow == Overflow::saturate && !has_saturation()) continue;
          ++checked;
          if (!agree(format, encode(format, y, overflow), cuda_encode(format, y, overflow)) && wrong++ == 0) first = y;
        }
      }
    }
  };
  const double last_gap = info(format).max_finite - decode(format, max_finite_bits(format) - 1);
  for (std::uint64_t bits = 0; bits <= max_finite_bits(format); ++bits) {
    const double value = decode(format, bits);
    const double next = bits < max_finite_bits(format) ? decode(format, bits + 1) : value + last_gap;
    check(value);
    check(value + (next - value) / 2);
  }
  for (double special : {kInfinity, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}) {
    check(special);
  }
  check(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(checked, (has_saturation() ? 12 : 6) * (2 * (static_cast<std::int64_t>(max_finite_bits(format)) + 1) + 4));
  EXPECT_EQ(wrong, 0) << "first at " << std::hexfloat << first << ": " << std::hex << encode(format, first) << " and "
                      << cuda_encode(format, first, Overflow::ieee);
}

INSTANTIATE_TEST_SUITE_P(All, FormatsCuda, testing::Values(Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2),
                         [](const auto& item) { return std::string(flashproof::info(item.param).name); });

}  // namespace
}  // namespace flashproof
