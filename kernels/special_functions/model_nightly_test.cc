// The model against the hashes of a GPU's outputs for all 2^32 inputs of every instruction.
#include <gtest/gtest.h>

#include "kernels/special_functions/model_hashes.h"
#include "reference/system/test/test_name.h"

namespace flashproof::special {
namespace {

class AllInputs : public testing::TestWithParam<GoldenClasses> {};

TEST_P(AllInputs, have_the_outputs_of_the_gpu) {
  const GoldenClasses& golden = GetParam();
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    EXPECT_EQ(class_hash(*find_instruction(golden.instruction), kSm90, c), golden.hashes[c]) << "class " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(SpecialFunctions, AllInputs, testing::ValuesIn(kClassesSm90),
                         [](const auto& info) { return test_name(info.param.instruction); });

}  // namespace
}  // namespace flashproof::special
