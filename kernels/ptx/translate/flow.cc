#include "kernels/ptx/translate/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/calls.h"

namespace flashproof::ptx {
namespace {

/// "@%p shfl ..." -> "@!%p bra behind; shfl ...; behind:".
Entry with_branches_around(const Entry& entry) {
  Entry changed = entry;
  changed.instructions.clear();
  changed.labels.clear();
  std::size_t label = 0;
  const auto take_labels = [&](std::size_t up_to) {
    for (; label < entry.labels.size() && entry.labels[label].at <= up_to; ++label) {
      changed.labels.push_back({entry.labels[label].name, changed.instructions.size(), entry.labels[label].line});
    }
  };
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    take_labels(i);
    Instruction instruction = entry.instructions[i];
    const Form* form = find_form(instruction.form);
    const bool apart =
        form != nullptr && (is_collective(*form) || is_barrier(*form) || form->name == kCall || form->name == kReturn);
    if (instruction.guard < 0 || !apart) {
      changed.instructions.push_back(std::move(instruction));
      continue;
    }
    Instruction branch = instruction;
    branch.form = "bra";
    branch.guard_negated = !branch.guard_negated;
    Operand behind;
    behind.kind = Operand::Kind::label;
    behind.name = fmt::format("behind instruction {}", i);  // no label of a file has a blank
    branch.operands = {behind};
    instruction.guard = -1;
    changed.instructions.push_back(std::move(branch));
    changed.instructions.push_back(std::move(instruction));
    changed.labels.push_back({behind.name, changed.instructions.size(), 0});
  }
  take_labels(entry.instructions.size());
  return changed;
}

Block::End ending(const Form& form) {
  const std::string& opcode = form.parts[0];
  if (opcode == "bra") return Block::End::branch;
  if (opcode == "ret" || opcode == "exit") return Block::End::leave;
  if (opcode == "trap" || opcode == "brkpt") return Block::End::trap;
  if (form.name == kCall) return Block::End::call;
  if (form.name == kReturn) return Block::End::back;
  return is_barrier(form) ? Block::End::barrier : Block::End::fall;
}

bool same_members(const Operand& a, const Operand& b) { return a.kind == b.kind && a.reg == b.reg && a.bits == b.bits; }

class Builder {
 public:
  Builder(const std::string& file, Flow& flow) : file_(file), flow_(flow) {}

  void build() {
    const auto& instructions = flow_.entry.instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      take_labels(i);
      if (is_collective(*form(i))) start_at_collective(i);
      if (poll_of(*form(i)) != Poll::none) {
        if (open_.begin < i || open_.result >= 0) close(i, -1);
        open_.poll = poll_of(*form(i));
        close(i + 1, -1);
      } else if (ending(*form(i)) != Block::End::fall) {
        close(i, static_cast<int>(i));
      } else {
        for (const int written : flow_.checked[i].effects.writes) {
          if (members_ != nullptr && members_->reg == written) members_ = nullptr;
        }
      }
    }
    take_labels(instructions.size());
    if (open_.begin < instructions.size() || flow_.blocks.empty() || can_fall(flow_.blocks.back()) || labelled_end_) {
      close(instructions.size(), -1);  // what runs over the end leaves there
      flow_.blocks.back().how = Block::End::leave;
    }
    for (Block& block : flow_.blocks) {
      block.falls = can_fall(block);
      if (block.how == Block::End::branch || block.how == Block::End::call) block.target = target(block);
    }
    flow_.start = starts_.at(kStartLabel);
  }

 private:
  const Form* form(std::size_t i) const { return flow_.checked[i].form; }

  bool can_fall(const Block& block) const {
    const bool guarded = block.last >= 0 && flow_.entry.instructions[static_cast<std::size_t>(block.last)].guard >= 0;
    return block.how == Block::End::fall || block.how == Block::End::barrier || block.how == Block::End::call ||
           (guarded && block.how != Block::End::fall);
  }

  void take_labels(std::size_t i) {
    while (label_ < flow_.entry.labels.size() && flow_.entry.labels[label_].at == i) {
      if (open_.begin < i || open_.result >= 0) close(i, -1);  // who jumps there has no result to write
      starts_[flow_.entry.labels[label_++].name] = static_cast<int>(flow_.blocks.size());
      members_ = nullptr;
      labelled_end_ = i == flow_.entry.instructions.size();
    }
  }

  void start_at_collective(std::size_t i) {
    const Operand& members = members_of(flow_.entry.instructions[i]);
    if (members_ != nullptr && same_members(*members_, members)) return;  // those lanes are together since then
    if (open_.begin < i || open_.result >= 0) close(i, -1);
    open_.meet = static_cast<int>(i);
    members_ = &members;
  }

  void close(std::size_t end, int last) {
    open_.end = end;
    open_.last = last;
    open_.how = last < 0 ? Block::End::fall : ending(*form(end));
    flow_.blocks.push_back(open_);
    open_ = {};
    open_.begin = last < 0 ? end : end + 1;
    if (last >= 0 && (form(end)->has("red") || form(end)->name == kCall)) open_.result = last;
    members_ = nullptr;
  }

  int target(const Block& block) const {
    const Instruction& branch = flow_.entry.instructions[static_cast<std::size_t>(block.last)];
    const auto found = starts_.find(branch.operands[0].name);
    if (found == starts_.end()) refuse(file_, branch.line, "a branch to a label of another scope");
    return found->second;
  }

  const std::string& file_;
  Flow& flow_;
  Block open_;
  const Operand* members_ = nullptr;  // of the open block's collective
  std::size_t label_ = 0;
  bool labelled_end_ = false;
  std::map<std::string, int> starts_;
};

}  // namespace

bool is_barrier(const Form& form) {
  const std::string& opcode = form.parts[0];
  return (opcode == "bar" || opcode == "barrier") && !form.has("warp");
}

Poll poll_of(const Form& form) {
  if (form.parts[0] == "atom" || form.has("try_wait") || form.has("test_wait")) return Poll::atomic;
  if (form.parts[0] != "ld" || !(form.has("volatile") || form.has("relaxed") || form.has("acquire"))) return Poll::none;
  return form.has("shared") || form.has("shared::cta") ? Poll::shared_load : Poll::load;
}

bool is_collective(const Form& form) {
  const std::string& opcode = form.parts[0];
  return opcode == "shfl" || opcode == "vote" || opcode == "match" || opcode == "redux" || opcode == "mma" ||
         opcode == "wgmma" || opcode == "ldmatrix" || opcode == "stmatrix" || opcode == "elect" ||
         opcode == "setmaxnreg" || form.name == "bar.warp.sync";
}

bool orders_lanes(const Form& form) {
  const std::string& opcode = form.parts[0];
  return is_collective(form) && opcode != "mma" && opcode != "wgmma" && opcode != "ldmatrix" && opcode != "stmatrix" &&
         opcode != "setmaxnreg";
}

const Operand& members_of(const Instruction& instruction) {
  static const Operand everyone = [] {
    Operand all;
    all.bits = ~0ULL;  // as -1 is written
    return all;
  }();
  const bool is_whole = instruction.form.starts_with("mma.") || instruction.form.starts_with("wgmma.") ||
                        instruction.form.starts_with("setmaxnreg.") ||
                        instruction.form.find("matrix.") != std::string::npos;
  return is_whole ? everyone : instruction.operands.back();
}

std::vector<std::string> unsupported(const Module& module, const Entry& entry) {
  std::vector<std::string> list;
  for (const Entry* part : reached_functions(module, entry)) {
    for (const Instruction& instruction : part->instructions) {
      if (find_form(instruction.form) == nullptr) {
        list.push_back(
            fmt::format("{}:{}: no such instruction here: {}", module.file, instruction.line, shown(instruction.form)));
      }
    }
  }
  return list;
}

Flow flow_of(const Module& module, const Entry& entry) {
  const std::string& file = module.file;
  Flow flow;
  flow.entry = with_branches_around(with_functions(module, entry));
  for (const Instruction& instruction : flow.entry.instructions) {
    const Form* form = find_form(instruction.form);
    if (form == nullptr) refuse(file, instruction.line, "no such instruction here: " + shown(instruction.form));
    CheckedInstruction checked{
        form, checked_operands(file, *form, flow.entry, instruction), {}, CheckedInstruction::kNotEarly};
    checked.effects = effects_of(checked.rules, instruction);
    flow.checked.push_back(std::move(checked));
  }
  Builder(file, flow).build();
  find_live(flow);
  find_early_uses(flow);
  return flow;
}

}  // namespace flashproof::ptx
