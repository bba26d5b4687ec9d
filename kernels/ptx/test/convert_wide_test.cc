// cvt between floats of all formats, and between them and integers, against MPFR (PTX ISA 9.7.9: cvt).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/ptx/test/exact.h"

namespace flashproof::ptx {
namespace {

/// The source's nasty patterns, and those at, beside and between two neighbours of the other format.
std::vector<Input> inputs_between(const FloatFormat& from, const FloatFormat& to) {
  std::vector<Input> inputs = inputs_of(from, 1);
  for (std::uint64_t i = 0; i < 4000 && from.precision > to.precision; ++i) {
    const double x = to.value((i * 0x9e3779b97f4a7c15 >> (64 - to.bits)) & ~to.sign()),
                 y = to.value((i * 0x9e3779b97f4a7c15 >> (64 - to.bits) & ~to.sign()) + 1);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const std::uint64_t middle =
        exact(from, "mul", MPFR_RNDN,
              {converted(float_format("f64"), from, std::bit_cast<std::uint64_t>(x + y), MPFR_RNDN),
               converted(float_format("f64"), from, std::bit_cast<std::uint64_t>(0.5), MPFR_RNDN)});
    for (std::uint64_t step = 0; step < 3; ++step)
      inputs.push_back({(middle + step - 1) | (i % 2 == 0 ? from.sign() : 0)});
  }
  return inputs;
}

TEST(ConvertFloats, narrow_with_one_rounding) {
  const std::pair<const char*, const char*> pairs[] = {
      {"f64", "f32"}, {"f64", "f16"}, {"f32", "f16"}, {"f64", "bf16"}, {"f32", "bf16"}};
  for (const auto& [source, target] : pairs) {
    const FloatFormat &from = float_format(source), &to = float_format(target);
    const std::vector<Input> inputs = inputs_between(from, to);
    for (const Mode& mode : kModes) {
      const bool brain = to.name == "bf16";
      if (brain && from.bits == 64 && mode.mpfr != MPFR_RNDN) continue;
      for (const bool sat : {false, true}) {
        if (sat && brain) continue;
        expect_form(fmt::format("cvt{}{}.{}.{} {}, {};", mode.name, sat ? ".sat" : "", to.name, from.name, to.out(),
                                from.in(1)),
                    inputs, [&](const Input& in) {
                      const std::uint64_t result = converted(from, to, in.a, mode.mpfr);
                      return sat ? to.saturated(result) : result;
                    });
      }
    }
  }
  expect_form("cvt.rn.ftz.f32.f64 %ow, %d1;", inputs_of(float_format("f64"), 1), [&](const Input& in) {
    return converted(float_format("f64"), float_format("f32"), in.a, MPFR_RNDN, true);
  });
}

TEST(ConvertFloats, pairs_relu_and_satfinite) {
  const FloatFormat& from = float_format("f32");
  for (const char* target : {"f16", "bf16"}) {
    const FloatFormat& to = float_format(target);
    std::vector<Input> inputs = inputs_between(from, to);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].b = inputs[i * 7 % inputs.size()].a;
    for (int which = 0; which < 8; ++which) {
      const bool zero = which & 1, relu = which & 2, finite = which & 4;
      const auto each = [&](std::uint64_t x) {
        std::uint64_t result = converted(from, to, x, zero ? MPFR_RNDZ : MPFR_RNDN);
        if (to.is_nan(result)) return to.quiet;
        if (relu && (result & to.sign()) != 0) result = 0;
        return finite && (result & ~to.sign()) == to.infinity() ? result - 1 : result;
      };
      const std::string form =
          fmt::format("cvt.{}{}{}.{}", zero ? "rz" : "rn", relu ? ".relu" : "", finite ? ".satfinite" : "", target);
      expect_form(form + ".f32 %oh, %w1;", inputs, [&](const Input& in) { return each(in.a); });
      expect_form(form + "x2.f32 %ow, %w1, %w2;", inputs,
                  [&](const Input& in) { return each(in.a) << 16 | each(in.b); });
    }
  }
}

TEST(ConvertFloats, widen_exactly) {
  const std::pair<const char*, const char*> pairs[] = {
      {"f16", "f32"}, {"bf16", "f32"}, {"f16", "f64"}, {"bf16", "f64"}, {"f32", "f64"}};
  for (const auto& [source, target] : pairs) {
    const FloatFormat &from = float_format(source), &to = float_format(target);
    expect_form(fmt::format("cvt.{}.{} {}, {};", to.name, from.name, to.out(), from.in(1)), inputs_of(from, 1),
                [&](const Input& in) {
                  if (from.name == "bf16" && to.name == "f32") return in.a << 16;  // a move
                  return converted(from, to, in.a, MPFR_RNDN);
                });
  }
}

TEST(ConvertFloats, to_whole_numbers) {
  for (const char* name : {"f64", "f16", "bf16"}) {
    const FloatFormat& format = float_format(name);
    const std::pair<const char*, double (*)(double)> ways[] = {
        {"rni", std::nearbyint}, {"rzi", std::trunc}, {"rmi", std::floor}, {"rpi", std::ceil}};
    for (const auto& [way, whole] : ways) {
      expect_form(fmt::format("cvt.{0}.{1}.{1} {2}, {3};", way, name, format.out(), format.in(1)), inputs_of(format, 1),
                  [&, whole = whole](const Input& in) {
                    if (format.is_nan(in.a)) return format.nan_of({in.a});
                    return converted(float_format("f64"), format,
                                     std::bit_cast<std::uint64_t>(whole(format.value(in.a))), MPFR_RNDN);
                  });
    }
  }
}

struct IntegerType {
  const char* name;
  int bits;
  bool is_signed;
};
constexpr IntegerType kIntegers[] = {{"s8", 8, true},   {"u8", 8, false},   {"s16", 16, true}, {"u16", 16, false},
                                     {"s32", 32, true}, {"u32", 32, false}, {"s64", 64, true}, {"u64", 64, false}};

TEST(ConvertIntegers, from_floats_saturate_and_nan_is_zero_or_half_the_range) {
  for (const char* name : {"f64", "f32", "f16", "bf16"}) {
    const FloatFormat& format = float_format(name);
    std::vector<Input> inputs = inputs_of(format, 1);
    for (const double edge : {0.5, 1.5, 2.5, 127.5, 128.0, 255.5, 32767.5, 65535.5, 2147483647.0, 4294967295.0,
                              9223372036854775808.0, 18446744073709551616.0}) {
      for (std::uint64_t step = 0; step < 3; ++step) {
        const std::uint64_t x =
            converted(float_format("f64"), format, std::bit_cast<std::uint64_t>(edge), MPFR_RNDN) + step - 1;
        inputs.push_back({x});
        inputs.push_back({x | format.sign()});
      }
    }
    for (const IntegerType& type : kIntegers) {
      for (const Mode& mode : kModes) {
        const char* out = type.bits == 64 ? "%od" : "%ow";
        expect_form(fmt::format("cvt{}i.{}.{} {}, {};", mode.name, type.name, name, out, format.in(1)), inputs,
                    [&](const Input& in) {
                      const std::uint64_t all = ~0ULL >> (type.bits == 64 ? 0 : 32);
                      std::int64_t nan = type.is_signed ? INT64_MIN >> (64 - type.bits)
                                                        : static_cast<std::int64_t>(1ULL << (type.bits - 1));
                      if (type.bits != 64 && format.bits != 64) nan = 0;
                      if (format.is_nan(in.a)) return static_cast<std::uint64_t>(nan) & all;
                      mpfr_t x, low, high;
                      mpfr_inits2(80, x, low, high, nullptr);
                      mpfr_set_d(x, format.value(in.a), MPFR_RNDN);
                      mpfr_rint(x, x, mode.mpfr);
                      mpfr_set_sj(low, type.is_signed ? INT64_MIN >> (64 - type.bits) : 0, MPFR_RNDN);
                      mpfr_set_uj(high, ~0ULL >> (64 - type.bits + (type.is_signed ? 1 : 0)), MPFR_RNDN);
                      mpfr_max(x, x, low, MPFR_RNDN);
                      mpfr_min(x, x, high, MPFR_RNDN);
                      const std::uint64_t result = mpfr_sgn(x) < 0
                                                       ? static_cast<std::uint64_t>(mpfr_get_sj(x, MPFR_RNDN))
                                                       : mpfr_get_uj(x, MPFR_RNDN);
                      mpfr_clears(x, low, high, nullptr);
                      return result & all;
                    });
      }
    }
  }
}

TEST(ConvertIntegers, to_floats_round_once) {
  for (const char* name : {"f64", "f32", "f16", "bf16"}) {
    const FloatFormat& format = float_format(name);
    for (const IntegerType& type : kIntegers) {
      if (type.bits == 8) continue;
      std::vector<Input> inputs = integer_inputs(type.bits, 1);
      for (std::uint64_t i = 0; i < 4000; ++i) {  // a few bits, a gap, and one more
        const std::uint64_t x = (i % 1024 << 53 | 1ULL << 52) >> (i % 50);
        inputs.push_back({(x | (i % 3 != 0 ? 1U : 0U)) & (~0ULL >> (64 - type.bits))});
      }
      for (const Mode& mode : kModes) {
        if (mode.mpfr != MPFR_RNDN && format.bits == 64) continue;
        const char* in_name = type.bits == 16 ? "%h1" : type.bits == 32 ? "%w1" : "%d1";
        expect_form(fmt::format("cvt{}.{}.{} {}, {};", mode.name, name, type.name, format.out(), in_name), inputs,
                    [&](const Input& in) {
                      mpfr_t x;
                      mpfr_init2(x, 64);
                      type.is_signed
                          ? mpfr_set_sj(x, static_cast<std::int64_t>(in.a << (64 - type.bits)) >> (64 - type.bits),
                                        MPFR_RNDN)
                          : mpfr_set_uj(x, in.a, MPFR_RNDN);
                      const std::uint64_t result = rounded(format, x, mode.mpfr);
                      mpfr_clear(x);
                      return result;
                    });
      }
    }
  }
}

}  // namespace
}  // namespace flashproof::ptx
