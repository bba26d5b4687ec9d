// Forms of which LLVM makes hundreds of instructions – sums of f16, conversions to integers of 64 bits, fields of bits – are functions of the
// module, each compiled once. An instruction of such a form is a call: so 50,000 of them compile as fast as other ones.
#pragma once

#include <string>

#include "kernels/ptx/translate/flow.h"

namespace flashproof::ptx {

class BlockCode;

/// Whether it was emitted as a call; else its form is small, or does more than compute a register from registers.
bool emit_outlined(BlockCode& code, const CheckedInstruction& checked, const Instruction& in);

}  // namespace flashproof::ptx
