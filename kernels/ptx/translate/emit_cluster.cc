// A cluster of one block, as in a launch without clusters: its rank is 0, its shared memory the block's own, its barrier
// one of the block's threads. And what sm_90 adds for a warp as a whole.
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
void emit_map_address(BlockCode& code, const Form& form, const Instruction& in) {
  code.line("store <32 x i32> {}, ptr {}, align 128", code.value(in.operands[2], kWord), code.room(0));
  code.line("call void @ptx_cluster_rank(ptr %c, i32 {}, ptr {}, i32 {})", code.active(), code.room(0), code.site({}));
  code.write(in.operands[0], code.value(in.operands[1], form.type), form.type);
}

void emit_rank_of_address(BlockCode& code, const Form&, const Instruction& in) {
  code.write(in.operands[0], "zeroinitializer", kWord);
}

void emit_elect(BlockCode& code, const Form&, const Instruction& in) {
  const bool pair = in.operands[0].kind == Operand::Kind::pair;
  if (!pair) code.complain("elect.sync: operand 1: legal: a register or _, and a predicate, as %r|%p");
  const std::string members = code.value(in.operands[1], kWord);
  const std::string leader = code.op("call <32 x i32> @llvm.cttz.v32i32(<32 x i32> {}, i1 false)", members);
  code.write(in.operands[0].parts[0], leader, kWord);
  Operand lane;
  lane.kind = Operand::Kind::special;
  lane.name = "%laneid";
  code.write_predicate(in.operands[0].parts[1], code.op("icmp eq <32 x i32> {}, {}", leader, code.value(lane, kWord)));
}

void emit_register_count(BlockCode& code, const Form& form, const Instruction& in) {
  const std::uint64_t count = in.operands[0].bits;
  if (count < 24 || count > 256 || count % 8 != 0)
    code.complain(fmt::format("{}: operand 1: {} registers, legal: 24 to 256, a multiple of 8", form.name,
                              static_cast<std::int64_t>(count)));
}

void emit_proxy_fence(BlockCode& code, const Form&, const Instruction&) {
  code.line("call void @ptx_fence_proxy(ptr %c, i32 {})", code.active());
}

}  // namespace flashproof::ptx
