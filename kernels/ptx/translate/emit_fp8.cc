// cvt of pairs between e4m3, e5m2 and f16, f32 (PTX ISA 9.7.9: cvt; the formats: reference/problem/formats.h). By the runtime.
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/emit.h"
#include "reference/problem/formats.h"

namespace flashproof::ptx {

void emit_cvt_fp8(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& from = form.parts.back();
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    const std::string type = vector_type(form.from.bits);
    code.line("store {} {}, ptr {}, align 64", type, code.value(in.operands[i], form.from),
              code.room_of(0, static_cast<int>(i) - 1, form.from.bits));
  }
  const bool narrows = form.type.bits == 16;
  const auto format = form.has("e4m3x2") ? Format::e4m3fn : Format::e5m2;
  code.line("call void @ptx_{}_fp8(i32 {}, i32 {}, ptr {}, ptr {})",
            !narrows        ? "widen"
            : from == "f32" ? "narrow_f32_to"
                            : "narrow_f16_to",
            static_cast<int>(format), form.has("relu") ? 1 : 0, code.room(0), code.room(1));
  const std::string type = vector_type(form.type.bits);
  code.write(in.operands[0], code.op("load {}, ptr {}, align 64", type, code.room(1)), form.type);
}

}  // namespace flashproof::ptx
