// mma, ldmatrix and stmatrix: fragments into rooms of the frame, the runtime does the work of the warp.
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

void store_fragment(BlockCode& code, const Operand& operand, Type type, int room) {
  const std::vector<Operand> parts = elements(operand);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string value = code.value(parts[i], type);
    code.line("store <32 x i32> {}, ptr {}, align 128", value, code.room_of(room, static_cast<int>(i), 32));
  }
}

void write_fragment(BlockCode& code, const Operand& operand, int room) {
  const std::vector<Operand> parts = elements(operand);
  std::vector<std::string> values;
  values.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    values.push_back(code.op("load <32 x i32>, ptr {}, align 128", code.room_of(room, static_cast<int>(i), 32)));
  for (std::size_t i = 0; i < parts.size(); ++i) code.write(parts[i], values[i], kWord);
}

}  // namespace

MatrixOperation matrix_operation(const Form& form) {
  static constexpr std::pair<std::string_view, MatrixOperation> kFactors[] = {{"bf16", MatrixOperation::bf16},
                                                                              {"tf32", MatrixOperation::tf32},
                                                                              {"e4m3", MatrixOperation::e4m3},
                                                                              {"e5m2", MatrixOperation::e5m2}};
  for (const auto& [name, factors] : kFactors) {
    if (form.has(name)) return factors;
  }
  return MatrixOperation::f16;
}

void emit_mma(BlockCode& code, const Form& form, const Instruction& in) {
  Site site{};
  site.count = form.has("m16n8k8") ? 8 : form.has("m16n8k32") ? 32 : 16;
  site.operation = static_cast<std::uint8_t>(matrix_operation(form));
  for (int i = 0; i < 3; ++i)
    store_fragment(code, in.operands[static_cast<std::size_t>(i) + 1], i == 2 ? form.type : kWord, i);
  code.line("call void @ptx_mma(ptr %c, i32 %m, ptr {}, ptr {}, ptr {}, ptr {}, i32 {})", code.room(0), code.room(1),
            code.room(2), code.room(3), code.site(site));
  write_fragment(code, in.operands[0], 3);
}

namespace {

Site matrix_site(const Form& form) {
  Site site{};
  site.space = space_of(form);
  site.bytes = 16;
  site.count = static_cast<std::uint8_t>(form.vector_size());
  site.operation = static_cast<std::uint8_t>(form.has("trans") ? MatrixOperation::transposed : MatrixOperation::plain);
  return site;
}

}  // namespace

void emit_ldmatrix(BlockCode& code, const Form& form, const Instruction& in) {
  const Site site = matrix_site(form);
  store_address(code, in.operands[1], site.space, 0);
  code.line("call void @ptx_ldmatrix(ptr %c, i32 %m, ptr {}, ptr {}, i32 {})", code.room(0), code.room(1),
            code.site(site));
  write_fragment(code, in.operands[0], 1);
}

void emit_stmatrix(BlockCode& code, const Form& form, const Instruction& in) {
  const Site site = matrix_site(form);
  store_address(code, in.operands[0], site.space, 0);
  store_fragment(code, in.operands[1], kWord, 1);
  code.line("call void @ptx_stmatrix(ptr %c, i32 %m, ptr {}, ptr {}, i32 {})", code.room(0), code.room(1),
            code.site(site));
}

}  // namespace flashproof::ptx
