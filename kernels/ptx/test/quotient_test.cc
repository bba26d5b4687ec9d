// div.approx and div.full: the instructions that ptxas makes of them, in PTX, and the ISA's bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

/// Behind the inputs: quotients near every power of two of the divisor.
std::vector<Input> quotients() {
  std::vector<Input> inputs = float_inputs(2);
  for (std::uint64_t i = 0; i < 8192; ++i) {
    const std::uint64_t mantissa = i * 2654435761 & 0x7fffff;
    inputs.push_back({0x3f800000 | (mantissa ^ 0x2aaaaa), (i & 255) << 23 | mantissa});
    inputs.push_back({(i & 255) << 23 | (mantissa ^ 0x155555), ((i * 5) & 255) << 23 | mantissa});
  }
  return inputs;
}

/// The same results as `sequence` on the executor, which has each of its instructions tested alone.
void expect_sequence(const char* form, const char* sequence) {
  const std::vector<Input> inputs = quotients();
  const std::vector<std::uint64_t> expected = run_form(sequence, inputs);
  std::size_t i = 0;
  expect_form(form, inputs, [&](const Input&) { return expected[i++]; });
}

TEST(Quotient, is_made_of_the_reciprocal_as_ptxas_makes_it) {
  expect_sequence("div.approx.ftz.f32 %ow, %w1, %w2;", "rcp.approx.ftz.f32 %w4, %w2;\nmul.rn.ftz.f32 %ow, %w4, %w1;");
  expect_sequence("div.approx.f32 %ow, %w1, %w2;",
                  "abs.f32 %w4, %w2;\nsetp.geu.f32 %q, %w4, 0f00800000;\n@!%q mul.rn.f32 %w1, %w1, 0f4B800000;\n"
                  "@!%q mul.rn.f32 %w2, %w2, 0f4B800000;\nrcp.approx.ftz.f32 %w4, %w2;\nmul.rn.f32 %ow, %w4, %w1;");
  expect_sequence("div.full.ftz.f32 %ow, %w1, %w2;",
                  "abs.ftz.f32 %w4, %w2;\nsetp.gt.ftz.f32 %q, %w4, 0f7E800000;\n@%q mul.rn.ftz.f32 %w1, %w1, "
                  "0f3E800000;\n@%q mul.rn.ftz.f32 %w2, %w2, 0f3E800000;\nrcp.approx.ftz.f32 %w4, %w2;\n"
                  "mul.rn.ftz.f32 %ow, %w4, %w1;");
  expect_sequence("div.full.f32 %ow, %w1, %w2;",
                  "abs.f32 %w4, %w2;\nsetp.gt.f32 %q, %w4, 0f7E800000;\nsetp.geu.f32 %r, %w4, 0f00800000;\n"
                  "@%q mul.rn.f32 %w1, %w1, 0f3E800000;\n@%q mul.rn.f32 %w2, %w2, 0f3E800000;\n"
                  "@!%r mul.rn.f32 %w1, %w1, 0f4B800000;\n@!%r mul.rn.f32 %w2, %w2, 0f4B800000;\n"
                  "rcp.approx.ftz.f32 %w4, %w2;\nmul.rn.f32 %ow, %w4, %w1;");
}

TEST(Quotient, full_is_within_two_ulp_over_the_whole_range) {  // PTX ISA 9.7.3: div
  const std::vector<Input> inputs = quotients();
  const std::vector<std::uint64_t> results = run_form("div.full.f32 %ow, %w1, %w2;", inputs);
  int compared = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i].a)),
               y = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i].b)),
               quotient = std::bit_cast<float>(static_cast<std::uint32_t>(results[i]));
    const double wanted = static_cast<double>(x) / y;
    if (!std::isfinite(wanted) || std::fabs(wanted) < 0x1p-126 || std::fabs(wanted) > 0x1.fffffp127) continue;
    if (!std::isnormal(x)) continue;
    ++compared;
    const double ulp = std::ldexp(1.0, std::ilogb(wanted) - 23);
    EXPECT_LE(std::fabs(quotient - wanted), 2 * ulp) << x << " / " << y;
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace flashproof::ptx
