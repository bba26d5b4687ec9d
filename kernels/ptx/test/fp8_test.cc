// e4m3 and e5m2 by their definition (reference/problem/formats.h, which has tests of its own), and sums of atomics against MPFR.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/ptx/test/exact.h"
#include "reference/problem/formats.h"

namespace flashproof::ptx {
namespace {

constexpr Format kBytes[] = {Format::e4m3fn, Format::e5m2};
std::string name_of(Format format) { return format == Format::e4m3fn ? "e4m3x2" : "e5m2x2"; }

double relu(double x, bool on) { return on && x <= 0 ? 0 : x; }

TEST(Fp8, floats_narrow_to_nearest_and_saturate) {
  std::vector<Input> inputs = inputs_of(float_format("f32"), 2);
  for (const Format format : kBytes) {
    for (std::uint64_t byte = 0; byte < 255; ++byte) {  // at and beside the middle of two neighbours
      const double middle = (decode(format, byte) + decode(format, byte + 1)) / 2;
      if (!std::isfinite(middle)) continue;
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(middle));
      for (std::uint64_t i = 0; i < 3; ++i) inputs.push_back({bits + i - 1, bits});
    }
  }
  for (const Format format : kBytes) {
    for (const bool positive : {false, true}) {
      const auto byte = [&](double x) { return encode(format, relu(x, positive), Overflow::saturate); };
      const std::string form = fmt::format("cvt.rn.satfinite{}.{}", positive ? ".relu" : "", name_of(format));
      expect_form(form + ".f32 %oh, %w1, %w2;", inputs, [&](const Input& in) {
        return byte(decode(Format::f32, in.a)) << 8 | byte(decode(Format::f32, in.b));
      });
      std::vector<Input> halves;
      for (std::uint64_t i = 0; i < 65536; ++i) halves.push_back({i | (i * 40503 & 0xffff) << 16});
      expect_form(form + ".f16x2 %oh, %w1;", halves, [&](const Input& in) {
        return byte(decode(Format::f16, in.a >> 16)) << 8 | byte(decode(Format::f16, in.a & 0xffff));
      });
    }
  }
}

TEST(Fp8, every_pair_widens_exactly) {
  std::vector<Input> all;
  for (std::uint64_t i = 0; i < 65536; ++i) all.push_back({i});
  for (const Format format : kBytes) {
    for (const bool positive : {false, true}) {
      const auto half = [&](std::uint64_t x) { return encode(Format::f16, relu(decode(format, x), positive)); };
      expect_form(fmt::format("cvt.rn{}.f16x2.{} %ow, %h1;", positive ? ".relu" : "", name_of(format)), all,
                  [&](const Input& in) { return half(in.a & 255) | half(in.a >> 8) << 16; });
    }
  }
}

TEST(AtomicSum, rounds_once) {
  const std::pair<const char*, const char*> types[] = {
      {"f64", "f64 %od, [%O], %d2"}, {"f16", "noftz.f16 %oh, [%O], %h2"}, {"bf16", "noftz.bf16 %oh, [%O], %h2"}};
  for (const auto& [name, text] : types) {
    const FloatFormat& format = float_format(name);
    const std::string letter = format.bits == 64 ? "d" : "h";
    expect_form(fmt::format("st.global.b{0} [%O], %{1}1;\natom.global.add.{2};\nld.global.b{0} %o{1}, [%O];",
                            format.bits, letter, text),
                inputs_of(format, 2), [&](const Input& in) {
                  for (const std::uint64_t x : {in.b, in.a}) {  // measured: as it is, even one that signals
                    if (format.bits == 64 && format.is_nan(x)) return x;
                  }
                  return exact(format, "add", MPFR_RNDN, {in.a, in.b});
                });
  }
  for (const char* name : {"f16", "bf16"}) {
    const FloatFormat& format = float_format(name);
    std::vector<Input> pairs = inputs_of(format, 2);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Input high = pairs[i * 7 % pairs.size()];
      pairs[i] = {(pairs[i].a & 0xffff) | high.a << 48 >> 32, (pairs[i].b & 0xffff) | high.b << 48 >> 32};
    }
    expect_form(
        fmt::format("st.global.b32 [%O], %w1;\nred.global.add.noftz.{}x2 [%O], %w2;\nld.global.b32 %ow, [%O];", name),
        pairs, [&](const Input& in) {
          return exact(format, "add", MPFR_RNDN, {in.a & 0xffff, in.b & 0xffff}) |
                 exact(format, "add", MPFR_RNDN, {in.a >> 16, in.b >> 16}) << 16;
        });
  }
  expect_form("st.global.b16 [%O], %h1;\natom.global.cas.b16 %oh, [%O], %h1, %h2;\nld.global.b16 %oh, [%O];",
              integer_inputs(16, 2), [](const Input& in) { return in.b; });
}

}  // namespace
}  // namespace flashproof::ptx
