// The questions find K, F and ofb of units that are known, and notice units that are no block units or that round.
#include "kernels/probe/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/model/block_fma.h"

namespace flashproof::probe {
namespace {

constexpr int kRandom = 4000;

const Unit& unit_named(std::string_view name) { return *std::ranges::find(kUnits, name, &Unit::name); }

/// A unit that computes every step by `sum`(c, a, b).
template <class Sum>
Runner emulated(const Sum& sum) {
  return [sum](const Unit& unit, std::span<const Step> steps) {
    std::vector<StepResult> results;
    for (const Step& step : steps) {
      float a[kMostProducts], b[kMostProducts];
      for (int k = 0; k < unit.products; ++k) {
        const auto factor = [&](std::uint64_t bits) {
          return unit.inputs == Format::f32 ? cut_to_tf32(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                            : static_cast<float>(decode(unit.inputs, bits));
        };
        a[k] = factor(step.a[k]), b[k] = factor(step.b[k]);
      }
      const float d = sum(unit, std::bit_cast<float>(static_cast<std::uint32_t>(step.c)), a, b);
      results.push_back({std::bit_cast<std::uint32_t>(d), 1, 1});
    }
    return results;
  };
}

Runner block(BlockFma model) {
  return emulated([model](const Unit& unit, float c, const float* a, const float* b) {
    for (int k = 0; k < unit.products; k += model.k) {
      c = block_fma(model, {unit.inputs, unit.inputs}, c, a + k, b + k, std::min(model.k, unit.products - k));
    }
    return c;
  });
}

const Answer& answer(const UnitProfile& profile, std::string_view question) {
  const auto at = std::ranges::find(profile.answers, question, &Answer::question);
  if (at == profile.answers.end()) throw std::invalid_argument(std::string(question));
  return *at;
}

void expect_found(std::string_view unit, BlockFma model) {
  const UnitVerdict verdict = probe_unit(unit_named(unit), block(model), 1, kRandom);
  ASSERT_TRUE(verdict.present);
  const UnitProfile& p = verdict.profile;
  EXPECT_EQ(p.block.k, model.k) << unit;
  EXPECT_EQ(p.block.f, model.f) << unit;
  EXPECT_EQ(p.block.ofb, model.ofb) << unit;
  EXPECT_EQ(p.random_mismatches, 0U) << unit;
  for (const Answer& a : p.answers) {
    const bool chained = a.question == "all products in one step" || a.question.starts_with("the order of");
    if (chained && model.k < unit_named(unit).products) {
      EXPECT_FALSE(a.yes) << unit << ": " << a.question << ": " << a.figure;
    } else {
      EXPECT_TRUE(a.yes) << unit << ": " << a.question << ": " << a.figure;
    }
  }
}

TEST(Units, finds_what_it_is_given) {
  expect_found("mma.m16n8k16.f16", kHopperF16);
  expect_found("mma.m16n8k16.bf16", kHopperF16);
  expect_found("mma.m16n8k16.f16", kAmpereF16);
  expect_found("mma.m16n8k16.f16", kVoltaF16);
  expect_found("mma.m16n8k8.tf32", kHopperTf32);
  expect_found("mma.m16n8k8.tf32", kAmpereTf32);
  expect_found("mma.m16n8k32.e4m3", kBlackwellFp8);
  expect_found("wgmma.m64n8k32.e4m3", kHopperWgmmaFp8);
  expect_found("wgmma.m64n8k32.e5m2", kHopperWgmmaFp8);
}

/// fp8 on the f16 unit: every second pair of places.
float half_step(const Unit& unit, int half, float c, const float* a, const float* b) {
  float x[kMostProducts], y[kMostProducts];
  int n = 0;
  for (int k = 0; k < unit.products; ++k) {
    if (k / 2 % 2 == half) x[n] = a[k], y[n++] = b[k];
  }
  return block_fma(kHopperF16, {Format::f16, Format::f16}, c, x, y, n);
}

TEST(Units, finds_the_places_of_each_step) {
  // fp8 as two steps of f16: every second pair of places first, and subnormals converted.
  const auto interleaved = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    for (const int half : {0, 1}) c = half_step(unit, half, c, a, b);
    return c;
  });
  const UnitProfile p = probe_unit(unit_named("mma.m16n8k32.e4m3"), interleaved, 1, kRandom).profile;
  EXPECT_EQ(p.block, kHopperF16);
  EXPECT_EQ(p.random_mismatches, 0U);
  EXPECT_FALSE(answer(p, "a subnormal factor has the least exponent of its format").yes);
  EXPECT_THAT(answer(p, "all products in one step").figure, testing::HasSubstr("k = 0 1 4 5 8 9"));
}

TEST(Units, finds_a_c_that_is_added_last) {
  // What sm_90 makes of mma.sync on fp8: two f16 steps from 0, the low halves of the registers first, then an addition.
  const auto apart = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    float sum = 0;
    for (const int half : {0, 1}) sum = half_step(unit, half, sum, a, b);
    const float d = c + sum;
    return std::isnan(d) ? std::bit_cast<float>(0x7fffffffU) : d;
  });
  for (const char* name : {"mma.m16n8k32.e4m3", "mma.m16n8k32.e5m2"}) {
    const UnitProfile p = probe_unit(unit_named(name), apart, 1, kRandom).profile;
    EXPECT_EQ(p.block, kHopperF16);
    EXPECT_TRUE(p.c_last);
    EXPECT_EQ(p.random_mismatches, 0U) << p.answers.back().figure;
    EXPECT_TRUE(answer(p, "c is added last, rounded to nearest").yes);
    EXPECT_THAT(answer(p, "all products in one step").figure, testing::HasSubstr("k = 0 1 4 5 8 9"));
  }
}

TEST(Units, notices_one_bit_less) {
  // The random steps against the model of the other F: what a wrong declaration would meet.
  BlockFma found = kHopperF16;
  found.f = 24;
  const UnitVerdict verdict = probe_unit(unit_named("mma.m16n8k16.f16"), block(found), 1, kRandom);
  EXPECT_EQ(verdict.profile.block.f, 24);
  EXPECT_NE(verdict.profile.block, kHopperF16);
}

TEST(Units, notices_rounding_to_nearest) {
  // Addends aligned as on Hopper, but the sum rounded to nearest.
  const auto nearest = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    BlockFma finer = kHopperF16;
    const float low = block_fma(finer, {unit.inputs, unit.inputs}, c, a, b, unit.products);
    double exact = 0, largest = std::fabs(static_cast<double>(c));
    for (int k = 0; k < unit.products; ++k) largest = std::max(largest, std::fabs(static_cast<double>(a[k]) * b[k]));
    if (largest == 0 || !std::isfinite(low)) return low;
    const double quantum = std::ldexp(1, std::ilogb(largest) - finer.f);
    exact = std::trunc(static_cast<double>(c) / quantum) * quantum;
    for (int k = 0; k < unit.products; ++k) exact += std::trunc(static_cast<double>(a[k]) * b[k] / quantum) * quantum;
    return static_cast<float>(exact);
  });
  const UnitVerdict verdict = probe_unit(unit_named("mma.m16n8k16.f16"), nearest, 1, kRandom);
  EXPECT_FALSE(answer(verdict.profile, "the result is cut toward zero").yes);
  EXPECT_GT(verdict.profile.random_mismatches, 0U);
}

TEST(Units, a_chain_of_fma_is_no_block) {
  const auto chain = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    for (int k = 0; k < unit.products; ++k) c = std::fma(a[k], b[k], c);
    return c;
  });
  const UnitVerdict verdict = probe_unit(unit_named("mma.m16n8k16.bf16"), chain, 1, kRandom);
  EXPECT_EQ(verdict.profile.block.k, 0);
  EXPECT_FALSE(answer(verdict.profile, "the order of the products does not matter").yes);
}

TEST(Units, notices_flushed_subnormals_and_lost_places) {
  const auto flushing = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    float kept[kMostProducts];
    for (int k = 0; k < unit.products; ++k) kept[k] = std::fabs(a[k]) < 0x1p-14F ? 0.0F : a[k];
    return block_fma(kHopperF16, {unit.inputs, unit.inputs}, c, kept, b, unit.products);
  });
  const UnitVerdict flushed = probe_unit(unit_named("mma.m16n8k16.f16"), flushing, 1, kRandom);
  EXPECT_FALSE(answer(flushed.profile, "subnormal inputs are kept").yes);
  EXPECT_GT(flushed.profile.random_mismatches, 0U);
  const auto deaf = emulated([](const Unit& unit, float c, const float* a, const float* b) {
    return block_fma(kHopperF16, {unit.inputs, unit.inputs}, c, a, b, unit.products - 1);
  });
  EXPECT_GT(probe_unit(unit_named("mma.m16n8k16.f16"), deaf, 1, kRandom).profile.random_mismatches, 0U);
}

TEST(Units, an_instruction_that_the_device_lacks_is_left_out) {
  const Runner none = [](const Unit&, std::span<const Step> steps) {
    return std::vector<StepResult>(steps.size(), StepResult{0, 0, 0});
  };
  EXPECT_FALSE(probe_unit(unit_named("wgmma.m64n8k32.e4m3"), none, 1, kRandom).present);
}

}  // namespace
}  // namespace flashproof::probe
