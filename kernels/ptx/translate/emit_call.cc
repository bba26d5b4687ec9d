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

}  // namespace flashproof::ptx
