// The hashes of golden.h, of the model's outputs.
#pragma once

#include "kernels/special_functions/golden.h"
#include "kernels/special_functions/list.h"

namespace flashproof::special {

#include "kernels/special_functions/golden_sm_90.inc"

std::uint64_t binade_hash(const Tables& tables, const Binade& binade);
std::uint64_t class_hash(const Instruction& instruction, const Tables& tables, std::uint32_t class_number);
/// Of an instruction with 16-bit registers.
std::uint64_t small_hash(const Instruction& instruction, const Tables& tables);

}  // namespace flashproof::special
