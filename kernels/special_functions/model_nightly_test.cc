// The model against the hashes of a GPU's outputs for all 2^32 inputs of every instruction.
#include <gtest/gtest.h>

#include "kernels/special_functions/model_hashes.h"

namespace flashproof::special {
namespace {

class AllInputs : public testing::TestWithParam<GoldenClasses> {};

TEST_P(AllInputs, have_the_outputs_of_the_gpu) {
  const GoldenClasses& golden = GetParam();
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    EXPECT_EQ(class_hash(*find_instruction(golden.instruction), kSm90, c), golden.hashes[c]) << "class " << c;
  }
}

std::string name_of(const testing::TestParamInfo<GoldenClasses>& info) {
  std::string name(info.param.instruction);
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(SpecialFunctions, AllInputs, testing::ValuesIn(kClassesSm90), name_of);

}  // namespace
}  // namespace flashproof::special
