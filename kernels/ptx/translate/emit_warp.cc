// What the lanes of a warp do together. The block starts with the meeting of the members (BlockCode::function).
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

bool is_number(const Operand& operand, std::uint32_t low, std::uint32_t high) {
  return operand.kind == Operand::Kind::integer && operand.bits >= low && operand.bits <= high;
}

/// The lanes' bits with lane l's taken from lane l ^ by.
std::string butterfly_of_set(BlockCode& code, const std::string& lanes, std::uint64_t by) {
  static constexpr std::uint32_t kHalves[] = {0x55555555, 0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff};
  std::string set = lanes;
  for (int bit = 0; bit < 5; ++bit) {
    if ((by >> bit & 1) == 0) continue;
    const auto half = static_cast<std::int32_t>(kHalves[bit]);
    const std::string up = code.op("shl i32 {}, {}", code.op("and i32 {}, {}", set, half), 1 << bit);
    const std::string down = code.op("and i32 {}, {}", code.op("lshr i32 {}, {}", set, 1 << bit), half);
    set = code.op("or i32 {}, {}", up, down);
  }
  return set;
}

/// All 32 lanes in one segment, an exchange by a number: a permutation of the vector. Lanes that are not here are not read.
std::string butterfly(BlockCode& code, const std::string& x, std::uint64_t by) {
  const std::string read = butterfly_of_set(code, "%m", by);
  const std::string missing = code.op("and i32 {}, {}", read, code.op("xor i32 %m, -1"));
  const std::string bad = code.new_label(), good = code.new_label();
  code.line("br i1 {}, label %{}, label %{}", code.op("icmp ne i32 {}, 0", missing), bad, good);
  code.label(bad);
  code.line("call void @ptx_shuffle_fault(ptr %c, i32 {}, i32 {})", missing, code.site({}));
  code.line("br label %{}", good);
  code.label(good);
  std::string order;
  for (int lane = 0; lane < kLanes; ++lane)
    order += fmt::format("{}i32 {}", lane == 0 ? "" : ", ", lane ^ static_cast<int>(by));
  return code.op("shufflevector <32 x i32> {}, <32 x i32> poison, <32 x i32> <{}>", x, order);
}

}  // namespace

void emit_shuffle(BlockCode& code, const Form& form, const Instruction& in) {
  const bool pair = in.operands[0].kind == Operand::Kind::pair;
  const Operand& to = pair ? in.operands[0].parts[0] : in.operands[0];
  const std::string x = code.value(in.operands[1], kWord);
  std::string result;
  std::string inside = "splat (i1 true)";
  if (form.has("bfly") && is_number(in.operands[2], 0, 31) && is_number(in.operands[3], 31, 31) &&
      is_number(in.operands[4], kAllLanes, kAllLanes)) {
    result = butterfly(code, x, in.operands[2].bits);
  } else {
    code.line("store <32 x i32> {}, ptr {}, align 128", x, code.room_of(0, 0, 32));
    for (int i = 1; i < 4; ++i) {  // the other lane, the clamp, the members
      const std::string value = code.value(in.operands[static_cast<std::size_t>(i) + 1], kWord);
      code.line("store <32 x i32> {}, ptr {}, align 128", value, code.room_of(0, i, 32));
    }
    const auto mode = static_cast<int>(shuffle_mode(form.one_of({"up", "down", "bfly", "idx"})));
    inside = code.predicate_of(code.op("call i32 @ptx_shuffle(ptr %c, i32 %m, i32 {}, ptr {}, ptr {}, i32 {})", mode,
                                       code.room(0), code.room(1), code.site({})));
    result = code.op("load <32 x i32>, ptr {}, align 128", code.room(1));
  }
  code.write(to, result, kWord);
  if (pair) code.write_predicate(in.operands[0].parts[1], inside);
}

void emit_vote(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string members = code.op("and <32 x i32> {}, {}", code.value(in.operands[2], kWord), code.splat("%m", 32));
  const std::string votes = code.splat(code.lanes_of(code.predicate(in.operands[1])), 32);
  const std::string yes = code.op("and <32 x i32> {}, {}", members, votes);
  if (form.has("ballot")) return code.write(in.operands[0], yes, kWord);
  const std::string any = code.op("icmp ne <32 x i32> {}, zeroinitializer", yes);
  if (form.has("any")) return code.write_predicate(in.operands[0], any);
  const std::string all = code.op("icmp eq <32 x i32> {}, {}", yes, members);
  if (form.has("all")) return code.write_predicate(in.operands[0], all);
  const std::string none = code.op("xor <32 x i1> {}, splat (i1 true)", any);
  code.write_predicate(in.operands[0], code.op("or <32 x i1> {}, {}", all, none));
}

void emit_reduction(BlockCode& code, const Form& form, const Instruction& in) {
  for (int i = 0; i < 2; ++i) {  // the value, the members
    const std::string value = code.value(in.operands[static_cast<std::size_t>(i) + 1], kWord);
    code.line("store <32 x i32> {}, ptr {}, align 128", value, code.room_of(0, i, 32));
  }
  const auto operation =
      static_cast<int>(warp_reduction(form.one_of({"add", "min", "max", "and", "or", "xor", "match", "any"})));
  code.line("call void @ptx_reduce(i32 %m, i32 {}, i32 {}, ptr {}, ptr {})", operation, form.type.kind == 's' ? 1 : 0,
            code.room(0), code.room(1));
  code.write(in.operands[0], code.op("load <32 x i32>, ptr {}, align 128", code.room(1)), kWord);
}

void emit_activemask(BlockCode& code, const Form&, const Instruction& in) {
  code.write(in.operands[0], code.splat(code.active(), 32), kWord);
}

void emit_fence(BlockCode& code, const Form& form, const Instruction&) {
  const MemoryScope scope = form.has("cta") ? MemoryScope::cta : MemoryScope::gpu;
  code.line("call void @ptx_fence(ptr %c, i32 {}, i32 {})", code.active(), static_cast<int>(scope));
}

void emit_barrier(BlockCode& code, const Form& form, const Instruction& in) {
  const bool reduces = form.has("red"), is_cluster = form.has("cluster");
  const BarrierKind arrival = !is_cluster           ? BarrierKind::arrive
                              : form.has("relaxed") ? BarrierKind::cluster_arrive_relaxed
                                                    : BarrierKind::cluster_arrive;
  const BarrierKind kind = form.has("arrive") ? arrival : is_cluster ? BarrierKind::cluster_wait : BarrierKind::sync;
  code.set_field(offsetof(Context, barrier_kind), "i32", std::to_string(static_cast<std::uint32_t>(kind)));
  if (is_cluster) return code.set_field(offsetof(Context, barrier), "i32", "0");
  const std::size_t first = reduces ? 1 : 0;
  const std::size_t numbers = in.operands.size() - 2 * first;  // the barrier, and the threads or not
  code.set_field(offsetof(Context, barrier), "i32", code.uniform(in.operands[first]));
  code.set_field(offsetof(Context, barrier_threads), "i32", numbers > 1 ? code.uniform(in.operands[first + 1]) : "0");
  if (reduces) {
    const std::string votes = code.lanes_of(code.predicate(in.operands.back()));
    code.set_field(offsetof(Context, barrier_votes), "i32", code.op("and i32 {}, %m", votes));
  }
}

void emit_barrier_result(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string votes = code.field(offsetof(Context, barrier_result), "i32");
  if (form.has("popc")) return code.write(in.operands[0], code.splat(votes, 32), kWord);
  const std::string wanted = form.has("and") ? code.field(offsetof(Context, result_threads), "i32") : "0";
  const std::string yes = code.op("icmp {} i32 {}, {}", form.has("and") ? "eq" : "ne", votes, wanted);
  const std::string lanes = code.op("sext i1 {} to i32", yes);
  code.write_predicate(in.operands[0], code.predicate_of(lanes));
}

}  // namespace flashproof::ptx
