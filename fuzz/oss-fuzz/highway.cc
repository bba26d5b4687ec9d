// The two functions of Highway's compiled library that the oracle calls, for builds that cannot link it (fuzz_only.cmake).
// They choose AVX2 where the CPU has it and nothing else: every machine of a fuzzing service then computes the same bits.
#include <cstdint>

#include "reference/oracle/fp64/vector/highway_targets.h"

namespace hwy {

std::int64_t SupportedTargets() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                          __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  return has ? HWY_AVX2 : 0;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
