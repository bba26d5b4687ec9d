// A block of code as a whole: the meeting of its lanes, its registers in and out, its end.

#include "kernels/ptx/run/code.h"
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/outlined.h"

namespace flashproof::ptx {

void BlockCode::emit_body() {
  const auto emit = [&](std::size_t i) {
    const Instruction& instruction = flow_.entry.instructions[i];
    begin(instruction);
    const CheckedInstruction& checked = flow_.checked[i];
    if (checked.early != CheckedInstruction::kNotEarly)
      line("call void @ptx_wgmma_early(ptr %c, i32 {}, i32 {})", checked.early, site({}));
    if (!emit_outlined(*this, checked, instruction)) checked.form->row->emit(*this, *checked.form, instruction);
    if (orders_lanes(*checked.form)) line("call void @ptx_order_lanes(ptr %c)");
  };
  if (block_.result >= 0) emit(static_cast<std::size_t>(block_.result));
  for (std::size_t i = block_.begin; i < block_.end; ++i) emit(i);
  emit_end();
}

void BlockCode::store_live() {
  if (block_.stored.empty()) return;
  const auto slot = [&](int reg) {
    return op("getelementptr i8, ptr %r, i64 {}", layout_.slots[static_cast<std::size_t>(reg)]);
  };
  const std::string whole = op("icmp eq i32 %m, -1");
  line("br i1 {}, label %whole, label %part", whole);
  for (const bool part : {false, true}) {
    label(part ? "part" : "whole");
    std::string mask;
    if (part) mask = predicate_of("%m");
    for (const int reg : block_.stored) {
      const int bits = flow_.entry.registers[static_cast<std::size_t>(reg)].type.bits;
      const std::string at = slot(reg);
      std::string stored = current_.at(reg);
      if (bits == 1) {
        stored = lanes_of(stored);
        if (part) {
          const std::string old = op("load i32, ptr {}, align 4", at);
          const std::string others = op("xor i32 %m, -1");
          stored = op("or i32 {}, {}", op("and i32 {}, %m", stored), op("and i32 {}, {}", old, others));
        }
        line("store i32 {}, ptr {}, align 4", stored, at);
        continue;
      }
      const std::string type = vector_type(bits);
      if (part) {
        const std::string old = op("load {}, ptr {}, align {}", type, at, kLanes * bits / 8);
        stored = op("select <32 x i1> {0}, {1} {2}, {1} {3}", mask, type, stored, old);
      }
      line("store {} {}, ptr {}, align {}", type, stored, at, kLanes * bits / 8);
    }
    line("br label %jump");
  }
  label("jump");
}

/// Lanes that go to `taken`; the others go on with the next block.
void BlockCode::emit_jump(const std::string& taken, const std::string& mixed) {
  set_field(offsetof(Context, split), "i32", "%taken");
  const std::string all = op("icmp eq i32 %taken, %m");
  const std::string none = op("icmp eq i32 %taken, 0");
  const std::string some = op("select i1 {}, i32 {}, i32 {}", none, number_ + 1, mixed);
  line("ret i32 {}", op("select i1 {}, i32 {}, i32 {}", all, taken, some));
}

void BlockCode::emit_end() {
  const Instruction* last =
      block_.last < 0 ? nullptr : &flow_.entry.instructions[static_cast<std::size_t>(block_.last)];
  const bool conditional = last != nullptr && last->guard >= 0;
  if (last != nullptr) begin(*last);
  const std::string taken = last == nullptr ? "%m" : active();
  if (block_.how == Block::End::barrier)
    emit_barrier(*this, *flow_.checked[static_cast<std::size_t>(block_.last)].form, *last);
  if (block_.how == Block::End::call) emit_call(*this, *last);
  if (block_.how == Block::End::back) {
    line("store <32 x i32> {}, ptr {}, align 4", value(last->operands[0], {'u', 32}),
         op("getelementptr i8, ptr %c, i64 {}", offsetof(Context, way_back)));
  }
  if (block_.how == Block::End::trap) {
    Site at{};
    at.operation = last->form == "brkpt" ? 1 : 0;
    line("call void @ptx_trap(ptr %c, i32 {}, i32 {})", taken, site(at));
  }
  line("br label %end");
  label("end");
  line("%taken = or i32 {}, 0", taken);
  const std::string left_over = field(offsetof(Context, budget), "i64");
  line("br i1 {}, label %stop, label %go", op("icmp slt i64 {}, 0", left_over));
  label("stop");
  line("ret i32 {}", static_cast<int>(stopped));
  label("go");
  if (is_loop()) {
    const std::string all = op("icmp eq i32 %taken, %m"),
                      goes_on = op("icmp sgt i64 {}, {}", left_over, field(offsetof(Context, ask_below), "i64"));
    line("br i1 {}, label %body, label %leave", op("and i1 {}, {}", all, goes_on));
    label("leave");
  }
  store_live();
  switch (block_.how) {
    case Block::End::fall:
    case Block::End::trap:
      line("ret i32 {}", number_ + 1);
      break;
    case Block::End::barrier:
      line("ret i32 {}", static_cast<int>(at_barrier));
      break;
    case Block::End::call:
      line("ret i32 {}", block_.target);
      break;
    case Block::End::back:
      line("ret i32 {}", static_cast<int>(returned));
      break;
    case Block::End::branch:
      conditional ? emit_jump(std::to_string(block_.target), std::to_string(diverged))
                  : line("ret i32 {}", block_.target);
      break;
    case Block::End::leave:
      conditional ? emit_jump(std::to_string(left), std::to_string(some_left))
                  : line("ret i32 {}", static_cast<int>(left));
  }
}

std::string BlockCode::function_of(const Form& form, const Instruction& instruction, const std::string& name) {
  begin(instruction);
  form.row->emit(*this, form, instruction);
  const auto result = current_.find(instruction.operands[0].reg);
  if (result == current_.end()) return "";
  const int bits = flow_.entry.registers[static_cast<std::size_t>(result->first)].type.bits;
  return fmt::format(
      "define internal void @{}(ptr noalias %r) noinline nounwind {{\n{}{}  store {} {}, ptr %r, align 128\n  ret "
      "void\n}}\n",
      name, loads_, text_, vector_type(bits), result->second);
}

std::string BlockCode::function() {
  std::string head =
      fmt::format("define internal i32 @b{}(ptr noalias %r, ptr noalias %c, i32 %m0) nounwind {{\nentry:\n", number_);
  for (int i = 0; i < 4; ++i) {
    if (text_.find(room(i)) != std::string::npos || (i == 0 && block_.meet >= 0)) {
      head += fmt::format("  {} = alloca [128 x i64], align 256\n", room(i));
    }
  }
  if (text_.find(kSums) != std::string::npos)
    head += fmt::format("  {} = alloca [128 x <32 x i32>], align 128\n", kSums);
  const auto meeting = [&] {
    const Operand& members = members_of(flow_.entry.instructions[static_cast<std::size_t>(block_.meet)]);
    begin(flow_.entry.instructions[static_cast<std::size_t>(block_.meet)]);
    const bool all = members.kind == Operand::Kind::integer && static_cast<std::uint32_t>(members.bits) == kAllLanes;
    std::string code = fmt::format("  %everyone = and i1 {}, {}\n  br i1 %everyone, label %met, label %meet\nmeet:\n",
                                   "%whole.warp", all);
    code = "  %whole.warp = icmp eq i32 %m0, -1\n" + code;
    std::string mask;
    if (members.kind == Operand::Kind::reg) {
      code += fmt::format(
          "  %members.at = getelementptr i8, ptr %r, i64 {}\n  %members = load <32 x i32>, ptr %members.at, align "
          "128\n",
          layout_.slots[static_cast<std::size_t>(members.reg)]);
      mask = "%members";
    } else {
      mask = integer_splat(members.bits, 32);
    }
    Site here{};
    here.block = number_;
    code += fmt::format(
        "  store <32 x i32> {}, ptr %room0, align 128\n"
        "  %go.lanes = call i32 @ptx_meet(ptr %c, i32 %m0, ptr %room0, i32 {})\n"
        "  %stuck = icmp eq i32 %go.lanes, 0\n  br i1 %stuck, label %wait, label %met\n"
        "wait:\n  ret i32 {}\nmet:\n  %m = phi i32 [ %m0, %entry ], [ %go.lanes, %meet ]\n",
        mask, site(here), static_cast<int>(parked));
    return code;
  };
  std::string before = block_.meet >= 0 ? meeting() : "  %m = or i32 %m0, 0\n";
  const auto cost = static_cast<int>(block_.end - block_.begin) + (block_.last >= 0 ? 1 : 0);
  const std::string count = fmt::format(
      "  %lanes = call i32 @llvm.ctpop.i32(i32 %m)\n  %lanes.wide = zext i32 %lanes to i64\n"
      "  %cost = mul i64 %lanes.wide, {}\n  %budget = load i64, ptr %c\n  %less = sub i64 %budget, %cost\n"
      "  store i64 %less, ptr %c\n",
      cost);
  const std::string from = block_.meet >= 0 ? "met" : "entry";
  std::string phis;
  for (const auto& [reg, initial] : loaded_) {
    phis += fmt::format("  %r{}.round = phi {} [ {}, %{} ], [ {}, %go ]\n", reg,
                        vector_type(flow_.entry.registers[static_cast<std::size_t>(reg)].type.bits), initial, from,
                        current_.at(reg));
  }
  return head + before + loads_ + "  br label %body\nbody:\n" + phis + count + text_ + "}\n";
}

}  // namespace flashproof::ptx
