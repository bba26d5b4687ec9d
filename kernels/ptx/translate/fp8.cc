// Conversions of pairs between 8 bits and f16 or f32, for emit_fp8.cc. The first operand of two is the high one.

#include "kernels/ptx/run/runtime.h"
#include "reference/problem/formats.h"

namespace flashproof::ptx {
namespace {

std::uint32_t narrowed(std::int32_t format, std::int32_t relu, double x) {
  if (relu != 0 && x <= 0) return 0;
  return static_cast<std::uint32_t>(encode(static_cast<Format>(format), x, Overflow::saturate));
}

}  // namespace

extern "C" void ptx_narrow_f32_to_fp8(std::int32_t format, std::int32_t relu, const float* operands,
                                      std::uint16_t* out) {
  for (int l = 0; l < kLanes; ++l) {
    out[l] = static_cast<std::uint16_t>(narrowed(format, relu, operands[l]) << 8 |
                                        narrowed(format, relu, operands[kLanes + l]));
  }
}

extern "C" void ptx_narrow_f16_to_fp8(std::int32_t format, std::int32_t relu, const std::uint32_t* operands,
                                      std::uint16_t* out) {
  for (int l = 0; l < kLanes; ++l) {
    out[l] = static_cast<std::uint16_t>(narrowed(format, relu, decode(Format::f16, operands[l] >> 16)) << 8 |
                                        narrowed(format, relu, decode(Format::f16, operands[l] & 0xffff)));
  }
}

extern "C" void ptx_widen_fp8(std::int32_t format, std::int32_t relu, const std::uint16_t* operands,
                              std::uint32_t* out) {
  for (int l = 0; l < kLanes; ++l) {
    out[l] = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const double x = decode(static_cast<Format>(format), operands[l] >> 8 * i & 255);
      out[l] |= static_cast<std::uint32_t>(relu != 0 && x <= 0 ? 0 : encode(Format::f16, x)) << 16 * i;
    }
  }
}

}  // namespace flashproof::ptx
