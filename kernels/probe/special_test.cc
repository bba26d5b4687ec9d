// What the probe says of approximate instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/probe/probe.h"

namespace flashproof::probe {
namespace {

using testing::HasSubstr;

const std::vector<SpecialVerdict> kVerdicts = {
    {"rcp.approx.f32", {.inputs = 1ULL << 32}},
    {"ex2.approx.ftz.f32",
     {.inputs = 1ULL << 32, .differ = 7, .first = 0x3f000001, .device = 0x3fb504f4, .model = 0x3fb504f5}}};

TEST(Special, the_first_input_that_differs_is_named) {
  const Gpu gpu{"Some GPU", "9.0"};
  EXPECT_THAT(
      special_table(gpu, kVerdicts),
      testing::AllOf(HasSubstr("| `rcp.approx.f32` | 4294967296 | 0 | – | – | – |"),
                     HasSubstr("| `ex2.approx.ftz.f32` | 4294967296 | 7 | 0x3f000001 | 0x3fb504f4 | 0x3fb504f5 |")));
  EXPECT_THAT(
      special_complaints(gpu, kVerdicts),
      testing::ElementsAre(HasSubstr("ex2.approx.ftz.f32: not the model's: 7 of 4294967296 differ, the first at "
                                     "0x3f000001: 0x3fb504f4, the model 0x3fb504f5")));
}

TEST(Special, of_a_gpu_without_tables_nothing_is_claimed) {
  const Gpu gpu{"Some GPU", "8.0"};
  EXPECT_THAT(special_table(gpu, kVerdicts), HasSubstr("no tables of compute capability 8.0"));
  EXPECT_THAT(special_complaints(gpu, kVerdicts), testing::IsEmpty());
}

}  // namespace
}  // namespace flashproof::probe
