// Calls of functions. What they are given and return lies in the thread's local memory (translate/calls.h).
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {

void emit_call(BlockCode& code, const Instruction& in) {
  const auto& local = code.layout().local;
  for (const Operand& pair : in.operands[2].parts) {
    code.line("call void @ptx_pass(ptr %c, i32 %m, i64 {}, i64 {}, i64 {})", local.at(pair.parts[0].name),
              local.at(pair.parts[1].name), pair.bits);
  }
  code.write(in.operands[1], integer_splat(static_cast<std::uint64_t>(code.number()) + 1, 32), {'u', 32});
}

void emit_call_result(BlockCode& code, const Form&, const Instruction& in) {
  const auto& local = code.layout().local;
  for (const Operand& pair : in.operands[3].parts) {
    code.line("call void @ptx_pass(ptr %c, i32 %m, i64 {}, i64 {}, i64 {})", local.at(pair.parts[1].name),
              local.at(pair.parts[0].name), pair.bits);
  }
}

namespace {

/// Where the caller has put the number-th of them, in the thread's local memory.
std::int64_t place(const BlockCode& code, const Operand& passed, std::size_t number) {
  return code.layout().local.at(passed.parts[number].parts[0].name);
}

}  // namespace

void emit_print(BlockCode& code, const Form&, const Instruction& in) {
  code.line("call void @ptx_print(ptr %c, i32 {}, i64 {}, i64 {}, i64 {}, i32 {})", code.active(),
            place(code, in.operands[0], 0), place(code, in.operands[0], 1), place(code, in.operands[1], 0),
            code.site({}));
}

void emit_assert_fail(BlockCode& code, const Form&, const Instruction& in) {
  const Operand& given = in.operands[0];
  code.line("call void @ptx_assert_fail(ptr %c, i32 {}, i64 {}, i64 {}, i64 {}, i64 {}, i32 {})", code.active(),
            place(code, given, 0), place(code, given, 1), place(code, given, 2), place(code, given, 3), code.site({}));
}

}  // namespace flashproof::ptx
