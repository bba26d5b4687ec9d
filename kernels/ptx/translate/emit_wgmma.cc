// wgmma: the sums go to memory of the frame and back; the runtime multiplies at once (translate/wgmma.cc). That nothing uses them before
// the wait is looked at apart (translate/wgmma_uses.cc).
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

constexpr Type kSum{'f', 32}, kDescriptor{'b', 64};

std::string sum_place(BlockCode& code, std::size_t i) {
  return code.op("getelementptr i8, ptr {}, i64 {}", BlockCode::kSums, i * kLanes * 4);
}

/// 1 or -1.
bool is_negative(BlockCode& code, const Form& form, const Instruction& in, std::size_t number) {
  const auto scale = static_cast<std::int64_t>(in.operands[number].bits);
  if (scale != 1 && scale != -1)
    code.complain(fmt::format("{}: operand {}: {}, legal: 1 or -1", form.name, number + 1, scale));
  return scale == -1;
}

bool is_set(BlockCode& code, const Form& form, const Instruction& in, std::size_t number) {
  const std::uint64_t bits = in.operands[number].bits;
  if (bits > 1)
    code.complain(
        fmt::format("{}: operand {}: {}, legal: 0 or 1", form.name, number + 1, static_cast<std::int64_t>(bits)));
  return bits == 1;
}

std::uint32_t flags_of(BlockCode& code, const Form& form, const Instruction& in) {
  const bool has_registers = in.operands[1].kind == Operand::Kind::vector,
             may_transpose = form.has("f16") || form.has("bf16");
  const std::size_t wanted = 6 + (may_transpose ? (has_registers ? 1 : 2) : 0);
  if (in.operands.size() != wanted)
    code.complain(fmt::format("{}: {} operands, wanted {} with a in {}", form.name, in.operands.size(), wanted,
                              has_registers ? "registers" : "shared memory"));
  std::uint32_t flags = 0;
  if (has_registers) flags |= wgmma_registers;
  if (is_negative(code, form, in, 4)) flags |= wgmma_negated_a;
  if (is_negative(code, form, in, 5)) flags |= wgmma_negated_b;
  if (may_transpose && !has_registers && is_set(code, form, in, 6)) flags |= wgmma_transposed_a;
  if (may_transpose && is_set(code, form, in, wanted - 1)) flags |= wgmma_transposed_b;
  return flags;
}

}  // namespace

void emit_wgmma(BlockCode& code, const Form& form, const Instruction& in) {
  Site site{};
  site.count = static_cast<std::uint8_t>(form.columns() / 8);
  site.operation = static_cast<std::uint8_t>(matrix_operation(form));
  const std::uint32_t flags = flags_of(code, form, in);
  const std::vector<Operand>& sums = in.operands[0].parts;
  for (std::size_t i = 0; i < sums.size(); ++i)
    code.line("store <32 x i32> {}, ptr {}, align 128", code.value(sums[i], kSum), sum_place(code, i));
  if ((flags & wgmma_registers) != 0) {
    const std::vector<Operand>& factors = in.operands[1].parts;
    for (std::size_t i = 0; i < factors.size(); ++i)
      code.line("store <32 x i32> {}, ptr {}, align 128", code.value(factors[i], kWord),
                code.room_of(0, static_cast<int>(i), 32));
  } else {
    code.line("store <32 x i64> {}, ptr {}, align 256", code.value(in.operands[1], kDescriptor),
              code.room_of(1, 0, 64));
  }
  code.line("store <32 x i64> {}, ptr {}, align 256", code.value(in.operands[2], kDescriptor), code.room_of(1, 1, 64));
  const std::string adds = code.op("extractelement <32 x i1> {}, i32 0", code.predicate(in.operands[3]));
  const std::string with = code.op("select i1 {}, i32 {}, i32 {}", adds, flags | wgmma_adds, flags);
  code.line("call void @ptx_wgmma(ptr %c, i32 %m, ptr {}, ptr {}, ptr {}, i32 {}, i32 {})", BlockCode::kSums,
            code.room(0), code.room(1), with, code.site(site));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::string sum = code.op("load <32 x i32>, ptr {}, align 128", sum_place(code, i));
    code.write(sums[i], sum, kSum);
  }
}

void emit_wgmma_group(BlockCode& code, const Form& form, const Instruction& in) {
  if (form.has("commit_group")) return code.line("call void @ptx_wgmma_commit(ptr %c)");
  const std::uint64_t pending = in.operands[0].bits;
  if (pending > 7) code.complain(fmt::format("{}: operand 1: legal: 0 to 7", form.name));
  code.line("call void @ptx_wgmma_wait(ptr %c, i32 {})", pending);
}

}  // namespace flashproof::ptx
