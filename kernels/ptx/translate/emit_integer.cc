// Integer arithmetic, modulo 2^width.
#include <algorithm>

#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

std::string widened(BlockCode& code, const std::string& x, Type type) {
  return code.op("{} {} {} to {}", type.kind == 's' ? "sext" : "zext", vector_type(type.bits), x,
                 vector_type(2 * type.bits));
}

std::string product(BlockCode& code, const Form& form, const std::string& a, const std::string& b) {
  const Type type = form.type;
  if (!form.has("wide") && !form.has("hi")) return code.op("mul {} {}, {}", vector_type(type.bits), a, b);
  if (form.has("hi") && type.bits == 64) return by_lanes(code, LaneOperation::mul_hi, type, {a, b});
  const std::string wide_a = widened(code, a, type), wide_b = widened(code, b, type);
  const std::string wide = vector_type(2 * type.bits);
  std::string all = code.op("mul {} {}, {}", wide, wide_a, wide_b);
  if (form.has("wide")) return all;
  const std::string high = code.op("lshr {} {}, splat (i{} {})", wide, all, 2 * type.bits, type.bits);
  return code.op("trunc {} {} to {}", wide, high, vector_type(type.bits));
}

std::string call(BlockCode& code, std::string_view name, int bits, const std::string& a, const std::string& b) {
  return code.op("call {0} @llvm.{1}.v32i{2}({0} {3}, {0} {4})", vector_type(bits), name, bits, a, b);
}

}  // namespace

std::string by_lanes(BlockCode& code, LaneOperation operation, Type type, const std::vector<std::string>& x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    code.line("store {} {}, ptr {}, align 128", vector_type(type.bits), x[i],
              code.room_of(0, static_cast<int>(i), type.bits));
  }
  code.line("call void @ptx_lanes_{}{}(i32 {}, ptr {}, ptr {})", type.kind == 's' ? 's' : 'u', type.bits,
            static_cast<int>(operation), code.room(0), code.room(1));
  return code.op("load {}, ptr {}, align 128", vector_type(type.bits), code.room(1));
}

void emit_integer_arithmetic(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& opcode = form.parts[0];
  const bool is_signed = form.type.kind == 's';
  const std::string type = vector_type(form.type.bits);
  const std::string a = code.value(in.operands[1], form.type);
  const std::string b = in.operands.size() > 2 ? code.value(in.operands[2], form.type) : "";
  Type result_type = form.type;
  if (form.has("wide")) result_type.bits *= 2;
  std::string result;
  if (form.has("sat")) {
    result = call(code, opcode == "add" ? "sadd.sat" : "ssub.sat", form.type.bits, a, b);
  } else if (opcode == "add" || opcode == "sub") {
    result = code.op("{} {} {}, {}", opcode, type, a, b);
  } else if (opcode == "min" || opcode == "max") {
    result = call(code, (is_signed ? "s" : "u") + opcode, form.type.bits, a, b);
  } else if (opcode == "neg") {
    result = code.op("sub {} zeroinitializer, {}", type, a);
  } else if (opcode == "abs") {
    result = code.op("call {0} @llvm.abs.v32i{1}({0} {2}, i1 false)", type, form.type.bits, a);
  } else {
    result = product(code, form, a, b);
    if (opcode == "mad") {
      result = code.op("add {} {}, {}", vector_type(result_type.bits), result, code.value(in.operands[3], result_type));
    }
  }
  code.write(in.operands[0], result, result_type);
}

/// |a - b| + c.
void emit_absolute_difference(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string type = vector_type(form.type.bits), sign = form.type.kind == 's' ? "s" : "u";
  const std::string a = code.value(in.operands[1], form.type), b = code.value(in.operands[2], form.type);
  const std::string high = call(code, sign + "max", form.type.bits, a, b);
  const std::string low = call(code, sign + "min", form.type.bits, a, b);
  const std::string difference = code.op("sub {} {}, {}", type, high, low);
  code.write(in.operands[0], code.op("add {} {}, {}", type, difference, code.value(in.operands[3], form.type)),
             form.type);
}

/// c and the products of four bytes each, extended as their words are typed.
void emit_dot_product(BlockCode& code, const Form& form, const Instruction& in) {
  const Type word{'u', 32};
  const std::string x[] = {code.value(in.operands[1], word), code.value(in.operands[2], word)};
  std::string sum = code.value(in.operands[3], word);
  for (int byte = 0; byte < 4; ++byte) {
    std::string factor[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string top = code.op("shl <32 x i32> {}, splat (i32 {})", x[i], 24 - 8 * byte);
      factor[i] = code.op("{} <32 x i32> {}, splat (i32 24)", form.parts[i + 1] == "s32" ? "ashr" : "lshr", top);
    }
    sum = code.op("add <32 x i32> {}, {}", sum, code.op("mul <32 x i32> {}, {}", factor[0], factor[1]));
  }
  code.write(in.operands[0], sum, word);
}

/// Numbers of several words: a sum with the carry of the one before, a difference with what that borrowed. The carry is a value of the block of code: a compiler writes
/// such chains without a label between.
void emit_with_carry(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string type = vector_type(form.type.bits), &opcode = form.parts[0];
  const bool is_difference = opcode.starts_with("sub"), takes = opcode.ends_with('c');
  std::string a = code.value(in.operands[1], form.type), b = code.value(in.operands[2], form.type);
  if (opcode.starts_with("mad")) {
    a = product(code, form, a, b);
    b = code.value(in.operands[3], form.type);
  }
  const auto beyond = [&](const std::string& x, const std::string& y) {  // of x + y or x - y, as y's sum or difference
    return code.op("icmp ult {} {}, {}", type, x, y);
  };
  const char* operation = is_difference ? "sub" : "add";
  std::string result = code.op("{} {} {}, {}", operation, type, a, b);
  std::string carry = is_difference ? beyond(a, b) : beyond(result, a);
  if (takes) {
    if (code.carry.empty()) code.complain(form.name + ": no instruction with .cc before it in its block of code");
    const std::string more = code.op("zext <32 x i1> {} to {}", code.carry, type);
    const std::string sum = code.op("{} {} {}, {}", operation, type, result, more);
    carry = code.op("or <32 x i1> {}, {}", carry, is_difference ? beyond(result, more) : beyond(sum, result));
    result = sum;
  }
  code.write(in.operands[0], result, form.type);
  if (form.has("cc")) code.keep_carry(carry);
}

/// By zero all bits are ones, as the code that ptxas makes has it; PTX leaves it open.
void emit_division(BlockCode& code, const Form& form, const Instruction& in) {
  const Type type = form.type, wide{type.kind, std::max(type.bits, 32)};
  std::vector<std::string> x = {code.value(in.operands[1], type), code.value(in.operands[2], type)};
  if (type.bits < 32) {
    for (std::string& each : x) each = widened(code, each, type);
  }
  std::string result = by_lanes(code, form.parts[0] == "div" ? LaneOperation::div : LaneOperation::rem, wide, x);
  if (type.bits < 32) result = code.op("trunc <32 x i32> {} to {}", result, vector_type(type.bits));
  code.write(in.operands[0], result, type);
}

}  // namespace flashproof::ptx
