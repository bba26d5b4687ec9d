// The model against the hashes of a GPU's outputs: every entry of every table with every argument of its quadratic, and of
// each instruction every 128th input, all exponents among them. model_nightly_test.cc has the rest.
#include <gtest/gtest.h>

#include "kernels/special_functions/model_hashes.h"
#include "kernels/special_functions/solver.h"

namespace flashproof::special {
namespace {

TEST(SpecialFunctions, square_by_parts_is_the_square_by_rows) {
  for (std::uint32_t x = 0; x < 1U << 17; ++x) ASSERT_EQ(square(x), square_by_rows(x)) << x;
}

TEST(SpecialFunctions, tables_have_the_outputs_of_the_gpu) {
  for (const GoldenBinade& golden : kBinadesSm90) {
    const Binade binade{golden.instruction, golden.exponent};
    EXPECT_EQ(binade_hash(kSm90, binade), golden.hash) << golden.instruction << ", 2^" << golden.exponent;
  }
}

TEST(SpecialFunctions, every_binade_of_the_tables_has_a_hash) {
  ASSERT_EQ(std::size(kBinadesSm90), std::size(kBinades));
  for (std::size_t i = 0; i < std::size(kBinades); ++i) {
    EXPECT_EQ(kBinadesSm90[i].instruction, kBinades[i].instruction);
    EXPECT_EQ(kBinadesSm90[i].exponent, kBinades[i].exponent);
  }
}

TEST(SpecialFunctions, every_instruction_has_the_outputs_of_the_gpu_on_a_sample) {
  std::size_t checked = 0;
  for (const GoldenClasses& golden : kClassesSm90) {
    const auto chosen = static_cast<std::uint32_t>(golden.instruction.size() * 37 % kClasses);
    const Instruction* const instruction = find_instruction(golden.instruction);
    ASSERT_NE(instruction, nullptr) << golden.instruction;
    EXPECT_EQ(class_hash(*instruction, kSm90, chosen), golden.hashes[chosen]) << golden.instruction;
    ++checked;
  }
  for (const GoldenSmall& golden : kSmallSm90) {
    const Instruction* const instruction = find_instruction(golden.instruction);
    ASSERT_NE(instruction, nullptr) << golden.instruction;
    EXPECT_EQ(small_hash(*instruction, kSm90), golden.hash) << golden.instruction;
    ++checked;
  }
  EXPECT_EQ(checked, std::size(kInstructions)) << "every instruction once";
}

/// One unit in one coefficient shows, though a result in a million changes: a is the least that the outputs allow.
TEST(SpecialFunctions, the_hashes_see_a_single_unit_of_a_coefficient) {
  Tables changed = kSm90;
  changed.rcp[77].a -= 1;
  EXPECT_NE(binade_hash(changed, kBinades[0]), kBinadesSm90[0].hash);
}

TEST(SpecialFunctions, classes_partition_the_inputs) {
  for (const std::uint32_t group : {0U, 1U, 77U, kClassSize - 1}) {
    std::uint32_t seen[kClasses] = {};
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      const std::uint32_t x = class_input(c, group);
      EXPECT_EQ(x / kClasses, group);
      ++seen[x % kClasses];
    }
    for (const std::uint32_t count : seen) EXPECT_EQ(count, 1U);
  }
}

TEST(SpecialFunctions, no_tables_for_a_gpu_that_was_not_measured) {
  EXPECT_EQ(tables_of("9.0"), &kSm90);
  for (const char* other : {"8.0", "8.9", "10.0", "9", "", "90"}) EXPECT_EQ(tables_of(other), nullptr) << other;
}

/// What the solver finds from a segment's outputs has the same outputs, and outputs of no quadratic are refused.
TEST(SpecialFunctions, a_segment_is_found_again_from_its_outputs) {
  constexpr int kShift = 15;
  const Segment original = kSm90.rcp[40];
  Evidence e(1U << 16);
  for (std::uint32_t x = 0; x < 1U << 16; ++x) {
    const std::int64_t y = interpolate(original, x, square(x << 1)) >> kShift;
    e.low[x] = y << kShift;
    e.high[x] = ((y + 1) << kShift) - 1;
    e.squares[x] = square(x << 1);
  }
  const auto found = solve(e);
  ASSERT_TRUE(found.has_value());
  for (std::uint32_t x = 0; x < 1U << 16; ++x) {
    ASSERT_EQ(interpolate(*found, x, square(x << 1)) >> kShift, interpolate(original, x, square(x << 1)) >> kShift);
  }
  e.low[1000] += 3LL << kShift;
  e.high[1000] += 3LL << kShift;
  EXPECT_FALSE(solve(e).has_value());
}

}  // namespace
}  // namespace flashproof::special
