// Shifts, fields, counts and permutations of bits.
#include <cstdlib>

#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

std::string minimum(BlockCode& code, int bits, const std::string& a, int b) {
  return code.op("call {0} @llvm.umin.v32i{1}({0} {2}, {0} splat (i{1} {3}))", vector_type(bits), bits, a, b);
}

std::string wide(BlockCode& code, const std::string& word, bool is_signed = false) {
  return code.op("{} <32 x i32> {} to <32 x i64>", is_signed ? "sext" : "zext", word);
}

std::string low(BlockCode& code, const std::string& x) { return code.op("trunc <32 x i64> {} to <32 x i32>", x); }

/// The low 8 bits of an operand, at most `most`, as i64.
std::string position(BlockCode& code, const Operand& operand, int most) {
  const std::string byte = code.op("and <32 x i32> {}, splat (i32 255)", code.value(operand, kWord));
  return wide(code, minimum(code, 32, byte, most));
}

/// As many ones from bit 0 on, as i64.
std::string ones(BlockCode& code, const std::string& count) {
  return code.op("sub <32 x i64> {}, splat (i64 1)", code.op("shl <32 x i64> splat (i64 1), {}", count));
}

}  // namespace

void emit_shift(BlockCode& code, const Form& form, const Instruction& in) {
  const int bits = form.type.bits;
  const std::string type = vector_type(bits);
  const std::string a = code.value(in.operands[1], form.type);
  const std::string by = code.value(in.operands[2], kWord);
  const std::string capped = minimum(code, 32, by, bits - 1);
  std::string amount = capped;
  if (bits != 32) amount = code.op("{} <32 x i32> {} to {}", bits < 32 ? "trunc" : "zext", capped, type);
  const bool arithmetic = form.parts[0] == "shr" && form.type.kind == 's';
  const char* opcode = form.parts[0] == "shl" ? "shl" : arithmetic ? "ashr" : "lshr";
  std::string result = code.op("{} {} {}, {}", opcode, type, a, amount);
  if (!arithmetic) {
    const std::string beyond = code.op("icmp ugt <32 x i32> {}, splat (i32 {})", by, bits - 1);
    result = code.op("select <32 x i1> {0}, {1} zeroinitializer, {1} {2}", beyond, type, result);
  }
  code.write(in.operands[0], result, form.type);
}

void emit_funnel_shift(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string a = wide(code, code.value(in.operands[1], kWord));
  const std::string b = wide(code, code.value(in.operands[2], kWord));
  const std::string both = code.op("or <32 x i64> {}, {}", code.op("shl <32 x i64> {}, splat (i64 32)", b), a);
  const std::string by = code.value(in.operands[3], kWord);
  const std::string amount =
      wide(code, form.has("wrap") ? code.op("and <32 x i32> {}, splat (i32 31)", by) : minimum(code, 32, by, 32));
  std::string result = code.op("{} <32 x i64> {}, {}", form.has("l") ? "shl" : "lshr", both, amount);
  if (form.has("l")) result = code.op("lshr <32 x i64> {}, splat (i64 32)", result);
  code.write(in.operands[0], low(code, result), form.type);
}

void emit_bit_count(BlockCode& code, const Form& form, const Instruction& in) {
  const int bits = form.type.bits;
  const std::string type = vector_type(bits);
  const std::string a = code.value(in.operands[1], form.type);
  if (form.parts[0] == "brev") {
    return code.write(in.operands[0], code.op("call {0} @llvm.bitreverse.v32i{1}({0} {2})", type, bits, a), form.type);
  }
  std::string count = form.parts[0] == "popc"
                          ? code.op("call {0} @llvm.ctpop.v32i{1}({0} {2})", type, bits, a)
                          : code.op("call {0} @llvm.ctlz.v32i{1}({0} {2}, i1 false)", type, bits, a);
  if (bits == 64) count = low(code, count);
  code.write(in.operands[0], count, kWord);
}

/// The highest bit that is 1, of a negative number 0; its place, or by how much it could be shifted up. None: all ones.
void emit_bit_find(BlockCode& code, const Form& form, const Instruction& in) {
  const int bits = form.type.bits;
  const std::string type = vector_type(bits);
  std::string a = code.value(in.operands[1], form.type);
  if (form.type.kind == 's') {
    const std::string signs = code.op("ashr {} {}, splat (i{} {})", type, a, bits, bits - 1);
    a = code.op("xor {} {}, {}", type, a, signs);
  }
  std::string zeros = code.op("call {0} @llvm.ctlz.v32i{1}({0} {2}, i1 false)", type, bits, a);
  if (bits == 64) zeros = low(code, zeros);
  const std::string none = code.op("icmp eq <32 x i32> {}, splat (i32 {})", zeros, bits);
  const std::string place =
      form.has("shiftamt") ? zeros : code.op("sub <32 x i32> splat (i32 {}), {}", bits - 1, zeros);
  code.write(in.operands[0], code.op("select <32 x i1> {}, <32 x i32> splat (i32 -1), <32 x i32> {}", none, place),
             kWord);
}

void emit_bit_field(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string a = code.value(in.operands[1], kWord);
  if (form.parts[0] == "bfi") {
    const std::string b = wide(code, code.value(in.operands[2], kWord));
    const std::string at = position(code, in.operands[3], 32), length = position(code, in.operands[4], 32);
    const std::string mask = code.op("shl <32 x i64> {}, {}", ones(code, length), at);
    const std::string put = code.op("and <32 x i64> {}, {}", code.op("shl <32 x i64> {}, {}", wide(code, a), at), mask);
    const std::string kept = code.op("and <32 x i64> {}, {}", b, code.op("xor <32 x i64> {}, splat (i64 -1)", mask));
    return code.write(in.operands[0], low(code, code.op("or <32 x i64> {}, {}", put, kept)), form.type);
  }
  const bool is_signed = form.type.kind == 's';
  const std::string at = position(code, in.operands[2], 63), length = position(code, in.operands[3], 32);
  const std::string moved = code.op("{} <32 x i64> {}, {}", is_signed ? "ashr" : "lshr", wide(code, a, is_signed), at);
  std::string field = code.op("and <32 x i64> {}, {}", moved, ones(code, length));
  if (is_signed) {  // its highest bit, that of a beyond bit 31, fills the rest; none of no bits
    const std::string above =
        code.op("sub <32 x i64> splat (i64 64), {}",
                code.op("call <32 x i64> @llvm.umax.v32i64(<32 x i64> {}, <32 x i64> splat (i64 1))", length));
    field = code.op("ashr <32 x i64> {}, {}", code.op("shl <32 x i64> {}, {}", field, above), above);
  }
  code.write(in.operands[0], low(code, field), form.type);
}

/// Places and counts as numbers of 64 bits.
void emit_wide_bit_field(BlockCode& code, const Form& form, const Instruction& in) {
  std::vector<std::string> x;
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    const bool is_value = i == 1 || (i == 2 && form.parts[0] == "bfi");
    x.push_back(is_value ? code.value(in.operands[i], form.type) : wide(code, code.value(in.operands[i], kWord)));
  }
  const LaneOperation operation = form.parts[0] == "bfi" ? LaneOperation::insert : LaneOperation::field;
  code.write(in.operands[0], by_lanes(code, operation, form.type, x), form.type);
}

void emit_bit_mask(BlockCode& code, const Form& form, const Instruction& in) {
  const LaneOperation operation = form.has("clamp") ? LaneOperation::mask_clamp : LaneOperation::mask_wrap;
  code.write(in.operands[0],
             by_lanes(code, operation, kWord, {code.value(in.operands[1], kWord), code.value(in.operands[2], kWord)}),
             form.type);
}

namespace {

/// The bytes of x that the selector takes from it, at their places: those that move equally far together.
std::string bytes_taken(BlockCode& code, const std::string& x, int first, std::uint64_t selector) {
  std::string result = "zeroinitializer";
  const auto add = [&](const std::string& part, std::uint32_t mask) {
    const std::string kept = code.op("and <32 x i32> {}, {}", part, integer_splat(mask, 32));
    result = result == "zeroinitializer" ? kept : code.op("or <32 x i32> {}, {}", result, kept);
  };
  std::uint32_t moved[7] = {};  // by how many bytes up, and 3
  for (int k = 0; k < 4; ++k) {
    const int nibble = static_cast<int>(selector >> (4 * k) & 15), byte = (nibble & 7) - first;
    if (byte < 0 || byte > 3) continue;
    if ((nibble & 8) == 0) {
      moved[k - byte + 3] |= 0xffU << (8 * k);
    } else {
      const std::string top = code.op("shl <32 x i32> {}, splat (i32 {})", x, 24 - 8 * byte);
      add(code.op("ashr <32 x i32> {}, splat (i32 31)", top), 0xffU << (8 * k));
    }
  }
  for (int by = -3; by <= 3; ++by) {
    if (moved[by + 3] == 0) continue;
    add(by == 0 ? x : code.op("{} <32 x i32> {}, splat (i32 {})", by > 0 ? "shl" : "lshr", x, 8 * std::abs(by)),
        moved[by + 3]);
  }
  return result;
}

}  // namespace

void emit_prmt(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string a = code.value(in.operands[1], kWord), b = code.value(in.operands[2], kWord);
  const Operand& selector = in.operands[3];
  if (!selector.is_immediate()) {
    return code.write(in.operands[0],
                      by_lanes(code, LaneOperation::permute, kWord, {a, b, code.value(selector, kWord)}), form.type);
  }
  const std::string low = bytes_taken(code, a, 0, selector.bits), high = bytes_taken(code, b, 4, selector.bits);
  code.write(in.operands[0], code.op("or <32 x i32> {}, {}", low, high), form.type);
}

void emit_lop3(BlockCode& code, const Form& form, const Instruction& in) {
  const std::uint64_t table = in.operands[4].bits;
  if (table > 255) code.complain("lop3.b32: operand 5: a table of 8 bits is wanted");
  std::string x[3], inverse[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = code.value(in.operands[static_cast<std::size_t>(i) + 1], kWord);
    inverse[i] = code.op("xor <32 x i32> {}, splat (i32 -1)", x[i]);
  }
  std::string result = "zeroinitializer";
  for (int row = 0; row < 8; ++row) {  // of a, b, c = bits 2, 1, 0 of the row
    if ((table >> row & 1) == 0) continue;
    const std::string ab = code.op("and <32 x i32> {}, {}", row & 4 ? x[0] : inverse[0], row & 2 ? x[1] : inverse[1]);
    const std::string abc = code.op("and <32 x i32> {}, {}", ab, row & 1 ? x[2] : inverse[2]);
    result = code.op("or <32 x i32> {}, {}", result, abc);
  }
  code.write(in.operands[0], result, form.type);
}

}  // namespace flashproof::ptx
