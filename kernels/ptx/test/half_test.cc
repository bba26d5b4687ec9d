// f16 and bf16, alone and two side by side, and f64: arithmetic against MPFR, the rest by the PTX ISA's words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ptx/test/exact.h"
#include "kernels/special_functions/list.h"

namespace flashproof::ptx {
namespace {

struct Arithmetic {
  std::string opcode;
  int operands;
  std::vector<std::string> modifiers;
};

/// The modifiers that the name may have, in its order, on what MPFR gives.
std::uint64_t expected(const FloatFormat& format, const std::string& opcode, const std::string& modifiers,
                       mpfr_rnd_t mode, std::vector<std::uint64_t> x) {
  const bool flush = modifiers.find(".ftz") != std::string::npos;
  for (std::uint64_t& each : x) each = flush ? format.flushed(each) : each;
  std::uint64_t result = exact(format, opcode, mode, x, flush);
  if (modifiers.find(".sat") != std::string::npos) result = format.saturated(result);
  if (modifiers.find(".relu") != std::string::npos && !format.is_nan(result) && (result & format.sign()) != 0)
    result = 0;
  return result;
}

std::vector<std::uint64_t> operands_of(const FloatFormat& format, const Input& in, int operands) {
  const std::uint64_t all = ~0ULL >> (64 - format.bits);
  std::vector<std::uint64_t> x = {in.a & all, in.b & all, in.c & all};
  x.resize(static_cast<std::size_t>(operands));
  return x;
}

/// Halves of the packed input: the format's inputs, and the same in another order.
std::vector<Input> packed(const std::vector<Input>& inputs) {
  std::vector<Input> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input &low = inputs[i], &high = inputs[i * 7 % inputs.size()];
    pairs.push_back({low.a | high.a << 16, low.b | high.b << 16, low.c | high.c << 16});
  }
  return pairs;
}

std::uint64_t of_halves(const Input& in, const std::function<std::uint64_t(const Input&)>& each) {
  return each({in.a & 0xffff, in.b & 0xffff, in.c & 0xffff}) |
         each({in.a >> 16 & 0xffff, in.b >> 16 & 0xffff, in.c >> 16 & 0xffff}) << 16;
}

/// `form` + ".f16", and ".f16x2" with the same on both halves.
void expect_halves(const FloatFormat& format, const std::string& form, int operands,
                   const std::function<std::uint64_t(const Input&)>& each) {
  const auto text = [&](const char* type, const char* out, const char* letter) {
    std::string list = out;
    for (int i = 1; i <= operands; ++i) list += fmt::format(", %{}{}", letter, i);
    return fmt::format("{}.{}{} {};", form, format.name, type, list);
  };
  const std::vector<Input> inputs = inputs_of(format, operands);
  expect_form(text("", "%oh", "h"), inputs, each);
  expect_form(text("x2", "%ow", "w"), packed(inputs), [&](const Input& in) { return of_halves(in, each); });
}

class Half : public testing::TestWithParam<const char*> {
 protected:
  const FloatFormat& format() const { return float_format(GetParam()); }
  bool brain() const { return format().name == "bf16"; }
};

TEST_P(Half, arithmetic_rounds_once) {
  for (const char* opcode : {"add", "sub", "mul", "fma"}) {
    const bool fma = std::string_view(opcode) == "fma";
    std::vector<std::string> modifiers = {""};
    if (!brain()) modifiers = {"", ".ftz", ".sat", ".ftz.sat"};
    if (fma) modifiers.push_back(".relu");
    if (fma && !brain()) modifiers.push_back(".ftz.relu");
    for (const std::string& modifier : modifiers) {
      for (const char* rounding : {"", ".rn"}) {
        if (fma && rounding[0] == 0) continue;
        const int operands = fma ? 3 : 2;
        expect_halves(format(), opcode + std::string(rounding) + modifier, operands, [&](const Input& in) {
          return expected(format(), opcode, modifier, MPFR_RNDN, operands_of(format(), in, operands));
        });
      }
    }
  }
}

TEST_P(Half, signs) {
  for (const char* ftz : {"", ".ftz"}) {
    if (brain() && ftz[0] != 0) continue;
    const auto end_of = [&](std::uint64_t x) {
      return format().is_nan(x) ? format().quiet : ftz[0] != 0 ? format().flushed(x) : x;
    };
    expect_halves(format(), fmt::format("abs{}", ftz), 1, [&](const Input& in) { return end_of(in.a & 0x7fff); });
    expect_halves(format(), fmt::format("neg{}", ftz), 1, [&](const Input& in) { return end_of(in.a ^ 0x8000); });
  }
}

TEST_P(Half, special_functions_are_the_units) {
  std::vector<Input> all;
  for (std::uint64_t i = 0; i < 65536; ++i) all.push_back({i | (i ^ 0x5555) << 16});
  int forms = 0;
  for (const special::Instruction& one : special::kInstructions) {
    const std::string name(one.name);
    if (!name.ends_with("." + format().name) && !name.ends_with("." + format().name + "x2")) continue;
    ++forms;
    const std::uint64_t mask = one.bits == 16 ? 0xffff : 0xffffffff;
    expect_form(name + (one.bits == 16 ? " %oh, %h1;" : " %ow, %w1;"), all, [&](const Input& in) {
      return std::uint64_t{one.model(special::kSm90, static_cast<std::uint32_t>(in.a & mask))};
    });
  }
  EXPECT_EQ(forms, 4);
}

INSTANTIATE_TEST_SUITE_P(all, Half, testing::Values("f16", "bf16"), [](const auto& info) { return info.param; });

TEST(Double, arithmetic_rounds_once_as_its_name_says) {
  const FloatFormat& format = float_format("f64");
  const std::pair<const char*, int> opcodes[] = {{"add", 2}, {"sub", 2},  {"mul", 2}, {"div", 2},
                                                 {"rcp", 1}, {"sqrt", 1}, {"fma", 3}, {"mad", 3}};
  for (const auto& [opcode, operands] : opcodes) {
    for (const Mode& mode : kModes) {
      const std::string sources[] = {"%d1", "%d1, %d2", "%d1, %d2, %d3"};
      expect_form(fmt::format("{}{}.f64 %od, {};", opcode, mode.name, sources[operands - 1]),
                  inputs_of(format, operands),
                  [&](const Input& in) { return exact(format, opcode, mode.mpfr, operands_of(format, in, operands)); });
    }
  }
  expect_form("add.f64 %od, %d1, %d2;", inputs_of(format, 2),
              [&](const Input& in) { return exact(format, "add", MPFR_RNDN, {in.a, in.b}); });
}

TEST(Double, signs_and_classes) {
  const FloatFormat& format = float_format("f64");
  const auto same_nan = [&](std::uint64_t in, std::uint64_t x) { return format.is_nan(in) ? format.nan_of({in}) : x; };
  expect_form("abs.f64 %od, %d1;", inputs_of(format, 1),
              [&](const Input& in) { return same_nan(in.a, in.a & ~format.sign()); });
  expect_form("neg.f64 %od, %d1;", inputs_of(format, 1),
              [&](const Input& in) { return same_nan(in.a, in.a ^ format.sign()); });
  expect_form("copysign.f64 %od, %d1, %d2;", inputs_of(format, 2),
              [&](const Input& in) { return (in.a & format.sign()) | (in.b & ~format.sign()); });
  expect_form("testp.subnormal.f64 %q, %d1;", inputs_of(format, 1),
              [&](const Input& in) -> std::uint64_t { return std::fpclassify(format.value(in.a)) == FP_SUBNORMAL; });
}

}  // namespace
}  // namespace flashproof::ptx
