#include "kernels/special_functions/model_hashes.h"

namespace flashproof::special {
namespace {

// A loop per instruction, so that the model is inlined into it.
template <class F>
std::uint64_t class_hash_of(F f, std::uint32_t class_number) {
  std::uint64_t sum = 0;
  for (std::uint32_t group = 0; group < kClassSize; ++group) {
    const std::uint32_t x = class_input(class_number, group);
    sum += hash(x, f(x));
  }
  return sum;
}

template <class F>
std::uint64_t range_hash_of(F f, std::uint32_t first, std::uint32_t count) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += hash(first + i, f(first + i));
  return sum;
}

}  // namespace

std::uint64_t binade_hash(const Tables& tables, const Binade& binade) {
  const Instruction& instruction = *find_instruction(binade.instruction);
  return range_hash_of([&](std::uint32_t x) { return instruction.model(tables, x); }, binade.first_input(),
                       kBinadeSize);
}

std::uint64_t class_hash(const Instruction& instruction, const Tables& tables, std::uint32_t class_number) {
#define FP_CLASS(type, ptx, function)                                                         \
  if (instruction.name == ptx) {                                                              \
    return class_hash_of([&](std::uint32_t x) { return function(tables, x); }, class_number); \
  }
  FP_SPECIAL_F32(FP_CLASS)
  FP_SPECIAL_PACKED(FP_CLASS)
  FP_SPECIAL_PACKED_SM_90(FP_CLASS)
#undef FP_CLASS
  return 0;
}

std::uint64_t small_hash(const Instruction& instruction, const Tables& tables) {
  return range_hash_of([&](std::uint32_t x) { return instruction.model(tables, x); }, 0, 1U << 16);
}

}  // namespace flashproof::special
