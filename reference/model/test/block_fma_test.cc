// The matrix unit against the published algorithm evaluated in rationals, and against what an H200 returned.
#include "reference/model/block_fma.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/model/attention/published_block.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

struct Model {
  const char* name;
  BlockFma unit;
  std::vector<BlockInputs> inputs;
};
std::vector<Model> models() {
  const BlockInputs f16{Format::f16, Format::f16};
  const BlockInputs bf16{Format::bf16, Format::bf16};
  const BlockInputs f32{Format::f32, Format::f32};  // tf32 after the cut
  const BlockInputs e4m3{Format::e4m3fn, Format::e4m3fn};
  const BlockInputs mixed{Format::e4m3fn, Format::e5m2};
  return {{"Volta f16", kVoltaF16, {f16}},
          {"Ampere f16", kAmpereF16, {f16, bf16}},
          {"Ampere tf32", kAmpereTf32, {f32}},
          {"Hopper f16", kHopperF16, {f16, bf16}},
          {"Hopper tf32", kHopperTf32, {f32}},
          {"Blackwell fp8", kBlackwellFp8, {e4m3, mixed, {Format::e5m2, Format::e5m2}}},
          {"Hopper fp8 wgmma", kHopperWgmmaFp8, {e4m3, mixed, {Format::e5m2, Format::e5m2}}}};
}

float draw(Random& random, Format format, int kind) {
  const FormatInfo& f = info(format);
  if (kind == 0) return static_cast<float>(round_to(format, random.normal()));
  if (kind == 1) {  // any finite pattern: subnormals, the largest, zeros of both signs
    const auto magnitude =
        static_cast<std::uint64_t>(random.integer(0, static_cast<std::int64_t>(max_finite_bits(format))));
    return static_cast<float>(decode(format, magnitude | (random.chance(0.5) ? sign_bit(format) : 0)));
  }
  if (kind == 3) {  // products near the end of f32's range
    const double x = std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-70, -60)));
    return static_cast<float>(round_to(format, random.chance(0.5) ? x : -x));
  }
  // Near one another in magnitude, around an exponent: cancellation and cut-off bits.
  const double x = std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-14, 4)) / (f.bits == 8 ? 3 : 1));
  return static_cast<float>(round_to(format, random.chance(0.5) ? x : -x));
}

class BlockFmaModels : public testing::TestWithParam<Model> {};

TEST_P(BlockFmaModels, agree_with_the_published_algorithm_in_rationals) {
  const Model& model = GetParam();
  int inexact = 0, overflows = 0, subnormals = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    Random random(round, 71);
    const BlockInputs inputs = model.inputs[round % model.inputs.size()];
    const bool tf32 = inputs.a == Format::f32;
    const int kind = static_cast<int>(random.integer(0, tf32 ? 3 : 2));
    std::vector<float> a, b;
    const auto n = random.chance(0.8) ? model.unit.k : static_cast<int>(random.integer(0, model.unit.k));
    for (int k = 0; k < n; ++k) {
      const float x = draw(random, inputs.a, kind);
      const float y = draw(random, inputs.b, kind);
      a.push_back(tf32 ? cut_to_tf32(x) : x);
      b.push_back(tf32 ? cut_to_tf32(y) : y);
    }
    float c = 0;
    switch (random.integer(0, 4)) {
      case 0:
        break;
      case 1:
        c = draw(random, Format::f32, 1);
        break;
      case 2:
        c = draw(random, Format::f32, 0);
        break;
      case 3: {  // against the sum: what is left are the cut-off bits
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * b[k];
        c = static_cast<float>(-sum);
        break;
      }
      default:
        c = std::ldexp(draw(random, Format::f32, 0), static_cast<int>(random.integer(-148, 20)));
    }
    if (!std::isfinite(c)) c = 0;
    const double expected = published(model.unit, inputs, c, a, b);
    const float computed = block_fma(model.unit, inputs, c, a.data(), b.data(), n);
    ASSERT_EQ(expected, computed) << model.name << " round " << round;
    double sum = c;
    for (int k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * b[k];
    inexact += sum != computed;
    overflows += std::isinf(computed);
    subnormals += computed != 0 && std::fabs(computed) < 0x1p-126F;
  }
  EXPECT_GT(inexact, 300);  // else the draw has gone soft
  if (GetParam().inputs[0].a == Format::f32) {
    EXPECT_GT(overflows, 10);
    EXPECT_GT(subnormals, 10);
  }
}
INSTANTIATE_TEST_SUITE_P(all, BlockFmaModels, testing::ValuesIn(models()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

/// c = 1 and sixteen products of this size.
float beside_one(double product, const BlockFma& unit = kHopperF16) {
  std::vector<float> a(16, static_cast<float>(std::ldexp(product, 12)));
  std::vector<float> b(16, 0x1p-12F);
  return block_fma(unit, {}, 1.0F, a.data(), b.data(), 16);
}

TEST(BlockFma, hopper_counts_an_addend_of_2_to_minus_25_beside_1_and_loses_2_to_minus_26) {
  EXPECT_EQ(beside_one(0x1p-25), 1 + 16 * 0x1p-25F);
  EXPECT_EQ(beside_one(0x1p-26), 1);
  EXPECT_EQ(block_fma({.k = 16, .f = 26, .ofb = 23}, {}, 1.0F, std::vector<float>(16, 0x1p-13F).data(),
                      std::vector<float>(16, 0x1p-13F).data(), 16),
            1 + 16 * 0x1p-26F);  // one more bit would count it
}

TEST(BlockFma, the_result_is_cut_toward_zero_not_rounded) {
  std::vector<float> a(16, 0x1p-12F);
  std::vector<float> b(16, 0x1p-12F);
  a[15] = 0;
  EXPECT_EQ(block_fma(kHopperF16, {}, 1.0F, a.data(), b.data(), 16), 1 + 14 * 0x1p-24F);  // 15 · 2^-24
  for (float& x : a) x = -x;
  EXPECT_EQ(block_fma(kHopperF16, {}, -1.0F, a.data(), b.data(), 16), -1 - 14 * 0x1p-24F);
  EXPECT_EQ(beside_one(0x1p-24, kHopperWgmmaFp8), 1);
}

TEST(BlockFma, products_are_not_normalised_before_they_are_aligned) {
  // 1.5 · 1.5 = 2.25 has the exponent 0 + 0: bits down to 2^-25 survive, as they would not beside a 2.25 of exponent 1.
  const float a[] = {1.5F, 0x1p-12F};
  const float b[] = {1.5F, 0x1p-13F};
  EXPECT_EQ(block_fma({.k = 16, .f = 25, .ofb = 23}, {}, -2.25F, a, b, 2), 0);  // c = −2.25 has exponent 1
  const float c[] = {1.5F, -1.5F, 0x1p-12F};
  const float d[] = {1.5F, 1.5F, 0x1p-13F};
  EXPECT_EQ(block_fma({.k = 16, .f = 25, .ofb = 23}, {}, 0.0F, c, d, 3), 0x1p-25F);
}

TEST(BlockFma, a_subnormal_factor_lends_its_least_exponent) {
  // 2^-24 · 1: exponent −14 + 0, so that an addend below 2^(−14 − 25) is lost though 2^-39 is far above 2^(−24 − 25).
  const float a[] = {0x1p-24F, 0x1p-14F};
  const float b[] = {1.0F, 0x1p-24F};
  const float lost[] = {0x1p-24F, 0x1p-14F};
  const float lost_b[] = {1.0F, 0x1p-24F * 0.5F};
  EXPECT_EQ(block_fma(kHopperF16, {}, 0.0F, a, b, 2), 0x1p-24F + 0x1p-38F);
  EXPECT_EQ(block_fma(kHopperF16, {.a = Format::f16, .b = Format::bf16}, 0.0F, lost, lost_b, 2), 0x1p-24F + 0x1p-39F);
  EXPECT_EQ(block_fma({.k = 16, .f = 24, .ofb = 23}, {.a = Format::f16, .b = Format::bf16}, 0.0F, lost, lost_b, 2),
            0x1p-24F);
}

TEST(BlockFma, infinities_and_nan) {
  const float inf = std::numeric_limits<float>::infinity();
  const float a[] = {inf, 1};
  const float b[] = {1, 1};
  const float zero[] = {0, 1};
  const float minus[] = {1, -inf};
  const float both_b[] = {1, inf};
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(block_fma(kHopperF16, {}, 0.0F, a, b, 2), inf);
  EXPECT_EQ(block_fma(kHopperF16, {}, -inf, b, b, 2), -inf);
  EXPECT_EQ(bits(block_fma(kHopperF16, {}, 0.0F, a, zero, 2)), 0x7fffffffU);
  EXPECT_EQ(bits(block_fma(kHopperF16, {}, -inf, a, b, 2)), 0x7fffffffU);
  EXPECT_EQ(bits(block_fma(kHopperF16, {}, 0.0F, a, minus, 2)), 0x7fffffffU);
  EXPECT_EQ(bits(block_fma(kHopperF16, {}, std::bit_cast<float>(0xffc00001U), b, b, 2)), 0x7fffffffU);
  EXPECT_EQ(block_fma(kHopperF16, {}, 0.0F, b, both_b, 2), inf);
  // Finite numbers overflow to an infinity, also where the exact sum does not need to.
  const float large[] = {0x1p120F};
  const float factor[] = {0x1p8F};
  EXPECT_EQ(block_fma(kHopperF16, {Format::bf16, Format::bf16}, 0.0F, large, factor, 1), inf);
  EXPECT_EQ(block_fma(kHopperF16, {Format::bf16, Format::bf16}, -0x1.fffffep127F, large, factor, 1), 0x1p104F);
}

TEST(BlockFma, subnormal_results_are_kept) {
  const float a[] = {0x1p-100F};
  const float b[] = {0x1p-40F};
  EXPECT_EQ(block_fma(kHopperF16, {Format::bf16, Format::bf16}, 0.0F, a, b, 1), 0x1p-140F);
  EXPECT_EQ(block_fma(kHopperWgmmaFp8, {Format::bf16, Format::bf16}, 0.0F, a, b, 1), 0.0F);  // 13 bits from 2^-126
}

}  // namespace
}  // namespace flashproof
