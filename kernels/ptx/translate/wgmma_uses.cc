// Which instructions may use a register that a wgmma still works on: forward over the blocks, for each such register the fewest groups
// that were committed behind the last one that writes it. Whether it is so when it is executed, the runtime says (ptx_wgmma_early).
#include <algorithm>
#include <map>

#include "kernels/ptx/translate/flow.h"

namespace flashproof::ptx {
namespace {

constexpr std::size_t kMostCells = 1 << 24;  // of registers times blocks; beyond it nothing is claimed

/// Of a register: 0, no wgmma has it; kOpen, one that is not committed; kOpen + 1 + n, one with n groups behind it.
using State = std::uint8_t;
constexpr State kOpen = 1, kLast = 250;

bool is_move(const CheckedInstruction& checked, const Instruction& in) {
  return checked.form->parts[0] == "mov" && in.guard < 0 && in.operands[0].kind == Operand::Kind::reg &&
         in.operands[1].kind == Operand::Kind::reg;
}

class Uses {
 public:
  explicit Uses(Flow& flow) : flow_(flow) {}

  void find() {
    track();
    if (tracked_.empty() || tracked_.size() * flow_.blocks.size() > kMostCells) return;
    in_.assign(flow_.blocks.size(), std::vector<State>(tracked_.size()));
    std::vector<bool> waits(flow_.blocks.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
        if (!waits[b]) continue;
        waits[b] = false;
        const std::vector<State> out = through(b);
        if (flow_.blocks[b].falls && b + 1 < flow_.blocks.size()) changed |= pass(out, b + 1, waits);
        if (flow_.blocks[b].target >= 0) changed |= pass(out, static_cast<std::size_t>(flow_.blocks[b].target), waits);
      }
    }
  }

 private:
  const Instruction& instruction(std::size_t i) const { return flow_.entry.instructions[i]; }

  void add(int reg) { tracked_.emplace(reg, tracked_.size()); }

  /// What wgmma writes, and what that is moved to.
  void track() {
    for (std::size_t i = 0; i < flow_.checked.size(); ++i) {
      if (!flow_.checked[i].form->has("mma_async")) continue;
      for (const Operand& sum : instruction(i).operands[0].parts) {
        if (sum.kind == Operand::Kind::reg) add(sum.reg);
      }
    }
    for (std::size_t before = 0; before != tracked_.size();) {
      before = tracked_.size();
      for (std::size_t i = 0; i < flow_.checked.size() && !tracked_.empty(); ++i) {
        if (is_move(flow_.checked[i], instruction(i)) && tracked_.contains(instruction(i).operands[1].reg))
          add(instruction(i).operands[0].reg);
      }
    }
  }

  bool pass(const std::vector<State>& out, std::size_t to, std::vector<bool>& waits) {
    bool changed = false;
    for (std::size_t r = 0; r < out.size(); ++r) {
      State& there = in_[to][r];
      if (out[r] == 0 || (there != 0 && there <= out[r])) continue;
      there = out[r];
      changed = true;
    }
    if (changed) waits[to] = true;
    return changed;
  }

  State* state(std::vector<State>& states, int reg) const {
    const auto found = tracked_.find(reg);
    return found == tracked_.end() ? nullptr : &states[found->second];
  }

  /// The registers of an instruction that is no wgmma.
  void use(std::size_t i, std::vector<State>& states) {
    CheckedInstruction& checked = flow_.checked[i];
    if (is_move(checked, instruction(i))) {
      const State* from = state(states, instruction(i).operands[1].reg);
      if (State* to = state(states, instruction(i).operands[0].reg)) *to = from != nullptr ? *from : 0;
      return;
    }
    for (const auto* list : {&checked.effects.reads, &checked.effects.writes}) {
      for (const int reg : *list) {
        const State* here = state(states, reg);
        if (here == nullptr || *here == 0) continue;
        const int groups = *here - kOpen - 1;  // -1: not committed
        checked.early = checked.early == CheckedInstruction::kNotEarly ? groups : std::min(checked.early, groups);
      }
    }
    for (const int reg : checked.effects.writes) {
      if (State* here = state(states, reg)) *here = 0;
    }
  }

  std::vector<State> through(std::size_t b) {
    std::vector<State> states = in_[b];
    const Block& block = flow_.blocks[b];
    const std::size_t end = block.end + (block.last >= 0 ? 1 : 0);
    for (std::size_t i = block.begin; i < end; ++i) {
      const Form& form = *flow_.checked[i].form;
      if (form.parts[0] != "wgmma") {
        use(i, states);
      } else if (form.has("mma_async")) {
        for (const Operand& sum : instruction(i).operands[0].parts) {
          if (State* here = state(states, sum.reg)) *here = kOpen;
        }
      } else if (form.has("commit_group")) {
        for (State& here : states) here = here == 0 || here == kLast ? here : static_cast<State>(here + 1);
      } else if (form.has("wait_group")) {
        for (State& here : states) {
          if (here > kOpen && here - kOpen - 1U >= instruction(i).operands[0].bits) here = 0;
        }
      }
    }
    return states;
  }

  Flow& flow_;
  std::map<int, std::size_t> tracked_;  // registers, and their place in the states
  std::vector<std::vector<State>> in_;
};

}  // namespace

void find_early_uses(Flow& flow) { Uses(flow).find(); }

}  // namespace flashproof::ptx
