// Conversions between f32, integers, f16 and bf16, against MPFR or by the formats' definition.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>

#include "kernels/ptx/test/form_runner.h"
#include "reference/problem/formats.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint32_t kQuiet = 0x7fffffff;

float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }

std::vector<Input> near_integers() {
  std::vector<Input> inputs = float_inputs(1);
  for (const double edge : {0.5, 1.5, 2.5, 126.5, 127.5, 128.0, 254.5, 255.5, 256.0, 32767.5, 32768.0, 65535.5, 65536.0,
                            8388607.5, 2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0}) {
    for (const double sign : {1.0, -1.0}) {
      const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>(sign * edge));
      for (std::uint32_t i = 0; i < 3; ++i) inputs.push_back({middle + i - 1});
    }
  }
  return inputs;
}

double to_whole(double x, std::string_view rounding) {
  if (rounding == "rzi") return std::trunc(x);
  if (rounding == "rmi") return std::floor(x);
  if (rounding == "rpi") return std::ceil(x);
  return std::nearbyint(x);  // to even; the test's process rounds to nearest
}

TEST(Conversion, float_to_integer_saturates_and_makes_nan_zero) {
  const std::pair<const char*, std::pair<double, double>> types[] = {{"s32", {-2147483648.0, 2147483647.0}},
                                                                     {"u32", {0, 4294967295.0}},
                                                                     {"s16", {-32768, 32767}},
                                                                     {"u16", {0, 65535}},
                                                                     {"s8", {-128, 127}},
                                                                     {"u8", {0, 255}}};
  for (const auto& [type, range] : types) {
    for (const char* rounding : {"rni", "rzi", "rmi", "rpi"}) {
      for (const bool ftz : {false, true}) {
        expect_form(fmt::format("cvt.{}{}.{}.f32 %ow, %w1;", rounding, ftz ? ".ftz" : "", type), near_integers(),
                    [&](const Input& in) -> std::uint64_t {
                      const float x = ftz ? flushed(as_float(in.a)) : as_float(in.a);
                      if (std::isnan(x)) return 0;
                      return static_cast<std::uint32_t>(static_cast<std::int64_t>(
                          std::fmin(std::fmax(to_whole(x, rounding), range.first), range.second)));
                    });
      }
    }
  }
}

TEST(Conversion, integer_to_float_rounds_to_nearest) {
  const std::pair<const char*, const char*> types[] = {{"s32", "%w1"}, {"u32", "%w1"}, {"s64", "%d1"},
                                                       {"u64", "%d1"}, {"s16", "%h1"}, {"u16", "%h1"}};
  for (const auto& [type, source] : types) {
    const int bits = std::stoi(type + 1);
    expect_form(fmt::format("cvt.rn.f32.{} %ow, {};", type, source), integer_inputs(bits, 1),
                [&](const Input& in) -> std::uint64_t {
                  mpfr_t x;
                  mpfr_init2(x, 24);
                  const auto value = static_cast<std::int64_t>(in.a << (64 - bits)) >> (64 - bits);
                  type[0] == 's' ? mpfr_set_sj(x, value, MPFR_RNDN) : mpfr_set_uj(x, in.a, MPFR_RNDN);
                  const float rounded = mpfr_get_flt(x, MPFR_RNDN);
                  mpfr_clear(x);
                  return std::bit_cast<std::uint32_t>(rounded);
                });
  }
}

TEST(Conversion, float_to_whole_float) {
  for (const char* rounding : {"rni", "rzi", "rmi", "rpi", ""}) {
    for (const bool ftz : {false, true}) {
      for (const bool sat : {false, true}) {
        const std::string form = fmt::format("cvt{}{}{}{}.f32.f32", rounding[0] == 0 ? "" : ".", rounding,
                                             ftz ? ".ftz" : "", sat ? ".sat" : "");
        expect_form(form + " %ow, %w1;", near_integers(), [&](const Input& in) -> std::uint64_t {
          float x = ftz ? flushed(as_float(in.a)) : as_float(in.a);
          if (rounding[0] == 0 && !ftz && !sat) return in.a;  // a move
          if (rounding[0] != 0 && !std::isnan(x)) x = std::copysign(static_cast<float>(to_whole(x, rounding)), x);
          if (sat) x = x > 0 ? std::min(x, 1.0F) : 0.0F;
          if (ftz) x = flushed(x);
          return std::isnan(x) ? kQuiet : std::bit_cast<std::uint32_t>(x);
        });
      }
    }
  }
}

TEST(Conversion, halves_widen_exactly_all_of_them) {
  std::vector<Input> all;
  all.reserve(65536);
  for (std::uint64_t i = 0; i < 65536; ++i) all.push_back({i});
  for (const Format format : {Format::f16, Format::bf16}) {
    const std::string name(info(format).name);
    expect_form(fmt::format("cvt.f32.{} %ow, %h1;", name), all, [&](const Input& in) -> std::uint64_t {
      const double x = decode(format, in.a);
      if (format == Format::bf16) return in.a << 16;  // a move
      return std::isnan(x) ? kQuiet : std::bit_cast<std::uint32_t>(static_cast<float>(x));
    });
  }
}

TEST(Conversion, floats_narrow_to_halves_to_nearest_even) {
  std::vector<Input> inputs = float_inputs(2);
  for (std::uint64_t half = 0; half < 65536; half += 7) {  // at and beside the middle between two neighbours
    for (const Format format : {Format::f16, Format::bf16}) {
      const double x = decode(format, half), y = decode(format, half + 1);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>((x + y) / 2));
      for (std::uint32_t i = 0; i < 3; ++i) inputs.push_back({middle + i - 1, middle});
    }
  }
  for (const Format format : {Format::f16, Format::bf16}) {
    const std::string name(info(format).name);
    const auto narrow = [&](std::uint64_t bits) -> std::uint64_t {
      return std::isnan(as_float(bits)) ? 0x7fff : encode(format, static_cast<double>(as_float(bits)));
    };
    expect_form(fmt::format("cvt.rn.{}.f32 %oh, %w1;", name), inputs, [&](const Input& in) { return narrow(in.a); });
    expect_form(fmt::format("cvt.rn.{}x2.f32 %ow, %w1, %w2;", name), inputs,
                [&](const Input& in) { return narrow(in.a) << 16 | narrow(in.b); });
  }
}

TEST(Conversion, a_wider_register_is_extended_by_the_types_sign) {
  const auto inputs = integer_inputs(32, 1);
  expect_form("cvt.s8.s32 %ow, %w1;", inputs, [](const Input& in) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(static_cast<std::int8_t>(in.a)));
  });
  expect_form("cvt.u8.u32 %ow, %w1;", inputs, [](const Input& in) { return in.a & 255; });
  expect_form("cvt.s64.s8 %od, %w1;", inputs, [](const Input& in) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(in.a)));
  });
}

}  // namespace
}  // namespace flashproof::ptx
