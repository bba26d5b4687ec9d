// An entry's instructions as blocks: what is executed in one piece, by all lanes of a warp that stand there.
#pragma once

#include <string>
#include <vector>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

struct Block {
  enum class End : unsigned char { fall, branch, leave, trap, barrier };
  std::size_t begin = 0, end = 0;  // instructions, without the one that ends the block
  End how = End::fall;
  int last = -1;                       // the instruction that ends it; -1: falls
  int target = -1;                     // of a branch, a block
  bool falls = false;                  // some lanes may go on with the next block
  int meet = -1;                       // the first collective: its members wait for one another in front of the block
  int result = -1;                     // the barrier in front of the block, whose reduction is written first
  std::vector<int> reads, writes;      // registers read before they are written here; written
  std::vector<int> live_in, live_out;  // sorted
};

struct CheckedInstruction {
  const Form* form = nullptr;
  std::vector<OperandRule> rules;
  Effects effects;
};

struct Flow {
  Entry entry;  // guarded collectives and barriers have become a branch around unguarded ones
  std::vector<CheckedInstruction> checked;
  std::vector<Block> blocks;  // in the order of the text; the last one does not fall
};

/// Throws UsageError for the first instruction that has no form or whose operands are wrong.
Flow flow_of(const std::string& file, const Entry& entry);

/// The instructions that have no form, one "FILE:LINE: no such instruction here: NAME" each.
std::vector<std::string> unsupported(const std::string& file, const Entry& entry);

/// shfl, vote, match, redux, bar.warp.sync, mma and ldmatrix: the lanes of a mask do it together.
bool is_collective(const Form& form);
bool is_barrier(const Form& form);
/// The operand that holds the mask of a collective; of mma and ldmatrix, which have none, all lanes.
const Operand& members_of(const Instruction& instruction);

}  // namespace flashproof::ptx
