// An entry's instructions as blocks: what is executed in one piece, by all lanes of a warp that stand there.
#pragma once

#include <string>
#include <vector>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// What a loop that waits for another thread asks memory with: a strong load, of memory of the grid or of the block, or an atomic, which
/// stands for a look at an mbarrier as well.
enum class Poll : unsigned char { none, load, shared_load, atomic };

struct Block {
  enum class End : unsigned char { fall, branch, leave, trap, barrier, call, back };
  std::size_t begin = 0, end = 0;  // instructions, without the one that ends the block
  End how = End::fall;
  int last = -1;                   // the instruction that ends it; -1: falls
  int target = -1;                 // of a branch or a call, a block
  bool falls = false;              // some lanes may go on with the next block
  int meet = -1;                   // the first collective: its members wait for one another in front of the block
  Poll poll = Poll::none;          // the block is such an instruction alone
  int result = -1;                 // the barrier or call in front of the block, whose result is written first
  std::vector<int> reads, writes;  // registers read before they are written here; written; sorted
  std::vector<int> stored;         // of those written what may be read behind the block
};

struct CheckedInstruction {
  static constexpr int kNotEarly = -2;
  const Form* form = nullptr;
  std::vector<OperandRule> rules;
  Effects effects;
  int early =
      kNotEarly;  // it may use a register of a wgmma with so many groups committed behind it, -1: that is not committed itself
};

struct Flow {
  Entry entry;  // with the functions it calls; guarded collectives and so on have become a branch around unguarded ones
  std::vector<CheckedInstruction> checked;
  std::vector<Block> blocks;     // in the order of the text; the last one does not fall
  std::vector<bool> across;      // by register: whether it lives from one block to another
  bool reads_unwritten = false;  // a register may be read before anything has written it
  int start = 0;  // behind the blocks of functions, so that lanes that call run before those that wait for them
};

/// Throws UsageError for the first instruction that has no form or whose operands are wrong.
Flow flow_of(const Module& module, const Entry& entry);

/// The instructions of the entry and its functions that have no form, one "FILE:LINE: no such instruction here: NAME" each.
std::vector<std::string> unsupported(const Module& module, const Entry& entry);

/// Fills in what each block reads, writes and stores, and what lives across blocks: liveness.cc.
void find_live(Flow& flow);

/// Fills in `early`: wgmma_uses.cc.
void find_early_uses(Flow& flow);

/// shfl, vote, match, redux, elect, bar.warp.sync, mma, wgmma, ldmatrix and setmaxnreg: the lanes of a mask do it together.
bool is_collective(const Form& form);
/// Whether it orders what the lanes of a warp access: bar.warp.sync does; shuffles and so on, which the ISA does not say it of, are taken to.
bool orders_lanes(const Form& form);
bool is_barrier(const Form& form);
Poll poll_of(const Form& form);
/// The operand that holds the mask of a collective; of mma, ldmatrix and setmaxnreg, which have none, all lanes.
const Operand& members_of(const Instruction& instruction);

}  // namespace flashproof::ptx
