// Every float form against MPFR: one rounding in the mode that its name says, with f32's range and subnormals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/ptx/test/exact.h"
#include "kernels/special_functions/list.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint32_t kQuiet = 0x7fffffff;

float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint32_t flushed(std::uint32_t bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }

struct Arithmetic {
  std::string opcode;
  int operands;
  bool bare, sat;  // add.f32 exists beside add.rn.f32; .sat exists
};

class FloatArithmetic : public testing::TestWithParam<Arithmetic> {};

TEST_P(FloatArithmetic, rounds_once_as_its_name_says) {
  const auto& [opcode, operands, bare, sat] = GetParam();
  static constexpr std::pair<const char*, mpfr_rnd_t> kModes[] = {
      {"", MPFR_RNDN}, {".rn", MPFR_RNDN}, {".rz", MPFR_RNDZ}, {".rm", MPFR_RNDD}, {".rp", MPFR_RNDU}};
  const std::vector<Input> inputs = float_inputs(operands);
  for (const auto& [rounding, mode] : kModes) {
    if (rounding[0] == 0 && !bare) continue;
    for (const bool ftz : {false, true}) {
      for (const bool saturates : {false, true}) {
        if (saturates && !sat) continue;
        const std::string form =
            fmt::format("{}{}{}{}.f32", opcode, rounding, ftz ? ".ftz" : "", saturates ? ".sat" : "");
        const char* sources[] = {"%w1", "%w1, %w2", "%w1, %w2, %w3"};
        const mpfr_rnd_t rounded = mode;
        expect_form(fmt::format("{} %ow, {};", form, sources[operands - 1]), inputs,
                    [&](const Input& in) -> std::uint64_t {
                      const FloatFormat& format = float_format("f32");
                      std::vector<std::uint64_t> x = {in.a, in.b, in.c};
                      for (std::uint64_t& each : x) each = ftz ? format.flushed(each) : each;
                      const std::uint64_t result = exact(format, opcode, rounded, x, ftz);
                      return saturates ? format.saturated(result) : result;
                    });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, FloatArithmetic,
                         testing::Values(Arithmetic{"add", 2, true, true}, Arithmetic{"sub", 2, true, true},
                                         Arithmetic{"mul", 2, true, true}, Arithmetic{"fma", 3, false, true},
                                         Arithmetic{"mad", 3, false, true}, Arithmetic{"div", 2, false, false},
                                         Arithmetic{"rcp", 1, false, false}, Arithmetic{"sqrt", 1, false, false}),
                         [](const auto& info) { return info.param.opcode; });

TEST(FloatApproximation, has_the_bits_of_the_special_function_unit) {
  std::vector<Input> inputs = float_inputs(1);
  for (std::uint64_t x = 0; x < 1U << 16; ++x)
    inputs.push_back({x << 16 | (x * 40503 & 0xffff)});  // every exponent, with mantissas
  int forms = 0;
  for (const special::Instruction& one : special::kInstructions) {
    if (!one.name.ends_with(".f32")) continue;
    ++forms;
    expect_form(std::string(one.name) + " %ow, %w1;", inputs, [&](const Input& in) {
      return std::uint64_t{one.model(special::kSm90, static_cast<std::uint32_t>(in.a))};
    });
  }
  EXPECT_EQ(forms, 11);
}

TEST(FloatExtremum, takes_the_number_and_minus_zero_for_less) {
  for (const bool is_max : {false, true}) {
    for (const bool ftz : {false, true}) {
      for (const bool keeps_nan : {false, true}) {
        const std::string form =
            fmt::format("{}{}{}.f32", is_max ? "max" : "min", ftz ? ".ftz" : "", keeps_nan ? ".NaN" : "");
        expect_form(form + " %ow, %w1, %w2;", float_inputs(2), [&](const Input& in) -> std::uint64_t {
          auto a = static_cast<std::uint32_t>(in.a), b = static_cast<std::uint32_t>(in.b);
          if (ftz) a = flushed(a), b = flushed(b);
          const bool a_nan = std::isnan(as_float(a)), b_nan = std::isnan(as_float(b));
          if ((a_nan && b_nan) || (keeps_nan && (a_nan || b_nan))) return kQuiet;
          if (a_nan || b_nan) return a_nan ? b : a;
          if (as_float(a) == as_float(b)) return is_max ? a & b : a | b;
          return (as_float(a) < as_float(b)) == is_max ? b : a;
        });
      }
    }
  }
}

TEST(FloatSign, abs_and_neg_make_every_nan_the_same) {
  for (const bool ftz : {false, true}) {
    const std::string end = ftz ? ".ftz.f32 %ow, %w1;" : ".f32 %ow, %w1;";
    const auto end_of = [&](std::uint32_t bits) -> std::uint64_t {
      if (std::isnan(as_float(bits))) return kQuiet;
      return ftz ? flushed(bits) : bits;
    };
    expect_form("abs" + end, float_inputs(1),
                [&](const Input& in) { return end_of(static_cast<std::uint32_t>(in.a) & 0x7fffffff); });
    expect_form("neg" + end, float_inputs(1),
                [&](const Input& in) { return end_of(static_cast<std::uint32_t>(in.a) ^ 0x80000000); });
  }
  expect_form("copysign.f32 %ow, %w1, %w2;", float_inputs(2),
              [](const Input& in) { return (in.a & 0x80000000) | (in.b & 0x7fffffff); });
}

TEST(FloatClass, testp) {
  const std::pair<const char*, bool (*)(float)> classes[] = {
      {"finite", [](float x) { return std::isfinite(x); }},
      {"infinite", [](float x) { return std::isinf(x); }},
      {"number", [](float x) { return !std::isnan(x); }},
      {"notanumber", [](float x) { return std::isnan(x); }},
      {"normal", [](float x) { return std::isnormal(x) || x == 0; }},
      {"subnormal", [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; }}};
  for (const auto& [name, is] : classes) {
    expect_form(fmt::format("testp.{}.f32 %q, %w1;", name), float_inputs(1),
                [&](const Input& in) -> std::uint64_t { return is(as_float(in.a)); });
  }
}

TEST(FloatComparison, setp) {
  const std::pair<const char*, bool (*)(float, float)> comparisons[] = {
      {"eq", [](float a, float b) { return a == b; }},
      {"ne", [](float a, float b) { return a < b || a > b; }},
      {"lt", [](float a, float b) { return a < b; }},
      {"le", [](float a, float b) { return a <= b; }},
      {"gt", [](float a, float b) { return a > b; }},
      {"ge", [](float a, float b) { return a >= b; }},
      {"equ", [](float a, float b) { return !(a < b || a > b); }},
      {"neu", [](float a, float b) { return a != b; }},
      {"ltu", [](float a, float b) { return !(a >= b); }},
      {"leu", [](float a, float b) { return !(a > b); }},
      {"gtu", [](float a, float b) { return !(a <= b); }},
      {"geu", [](float a, float b) { return !(a < b); }},
      {"num", [](float a, float b) { return !std::isnan(a) && !std::isnan(b); }},
      {"nan", [](float a, float b) { return std::isnan(a) || std::isnan(b); }}};
  for (const auto& [name, holds] : comparisons) {
    for (const bool ftz : {false, true}) {
      const auto truth = [&](const Input& in) {
        const auto a = static_cast<std::uint32_t>(in.a), b = static_cast<std::uint32_t>(in.b);
        return holds(as_float(ftz ? flushed(a) : a), as_float(ftz ? flushed(b) : b));
      };
      const std::string end = ftz ? ".ftz.f32" : ".f32";
      expect_form(fmt::format("setp.{}{} %q, %w1, %w2;", name, end), float_inputs(2),
                  [&](const Input& in) -> std::uint64_t { return truth(in); });
      expect_form(fmt::format("setp.{}.and{} %q|%r, %w1, %w2, !%p3;\nselp.u32 %ow, 1, 0, %r;", name, end),
                  float_inputs(2), [&](const Input& in) -> std::uint64_t { return !truth(in) && (in.c & 1) == 0; });
    }
  }
}

}  // namespace
}  // namespace flashproof::ptx
