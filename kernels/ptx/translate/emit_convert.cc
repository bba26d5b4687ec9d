// cvt between integers, f32, f16 and bf16.
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

constexpr const char* kHalfs = "<32 x half>";

std::string extended(BlockCode& code, const std::string& x, Type from, int bits) {
  if (from.bits == bits) return x;
  const char* opcode = from.bits > bits ? "trunc" : from.kind == 's' ? "sext" : "zext";
  return code.op("{} {} {} to {}", opcode, vector_type(from.bits), x, vector_type(bits));
}

/// Into the range of the destination's type, in 128 bits, where both ranges lie.
std::string saturated(BlockCode& code, const std::string& x, Type from, Type to) {
  const std::string type = vector_type(128);
  const std::string wide = extended(code, x, from, 128);
  const bool is_signed = to.kind == 's';
  const std::string low = is_signed ? std::to_string(to.bits == 64 ? INT64_MIN : -(1LL << (to.bits - 1))) : "0";
  const std::string high = std::to_string(is_signed ? (1ULL << (to.bits - 1)) - 1 : ~0ULL >> (64 - to.bits));
  const std::string above = code.op("call {0} @llvm.smax.v32i128({0} {1}, {0} splat (i128 {2}))", type, wide, low);
  const std::string inside = code.op("call {0} @llvm.smin.v32i128({0} {1}, {0} splat (i128 {2}))", type, above, high);
  return extended(code, inside, {'u', 128}, to.bits);
}

std::string rounded_to_integer(BlockCode& code, const Form& form, const std::string& x) {
  static constexpr std::pair<std::string_view, const char*> kRoundings[] = {
      {"rni", "roundeven"}, {"rzi", "trunc"}, {"rmi", "floor"}, {"rpi", "ceil"}};
  for (const auto& [name, function] : kRoundings) {
    if (form.has(name)) return code.op("call <32 x float> @llvm.{}.v32f32(<32 x float> {})", function, x);
  }
  return x;
}

/// f32 bits -> 16 bits, to nearest even, NaN 0x7fff.
std::string to_half(BlockCode& code, const std::string& bits, bool brain) {
  std::string half;
  if (brain) {
    const std::string last =
        code.op("and <32 x i32> {}, splat (i32 1)", code.op("lshr <32 x i32> {}, splat (i32 16)", bits));
    const std::string bias = code.op("add <32 x i32> {}, splat (i32 32767)", last);
    const std::string sum = code.op("add <32 x i32> {}, {}", bits, bias);
    half = code.op("trunc <32 x i32> {} to <32 x i16>", code.op("lshr <32 x i32> {}, splat (i32 16)", sum));
  } else {
    const std::string floats = code.as_float(bits);
    half = code.op("bitcast {} {} to <32 x i16>", kHalfs, code.op("fptrunc <32 x float> {} to {}", floats, kHalfs));
  }
  const std::string nan = code.op("fcmp uno <32 x float> {0}, {0}", code.as_float(bits));
  return code.op("select <32 x i1> {}, <32 x i16> splat (i16 32767), <32 x i16> {}", nan, half);
}

}  // namespace

void emit_cvt_integer(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string x = code.value(in.operands[1], form.from);
  const std::string result =
      form.has("sat") ? saturated(code, x, form.from, form.type) : extended(code, x, form.from, form.type.bits);
  code.write(in.operands[0], result, form.type);
}

void emit_cvt_to_integer(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string whole = rounded_to_integer(code, form, code.single(in.operands[1], form.has("ftz")));
  const std::string type = vector_type(form.type.bits);  // out of range: the nearest number; NaN: 0
  code.write(in.operands[0],
             code.op("call {} @llvm.fpto{}i.sat.v32i{}.v32f32(<32 x float> {})", type,
                     form.type.kind == 's' ? "s" : "u", form.type.bits, whole),
             form.type);
}

void emit_cvt_from_integer(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string x = code.value(in.operands[1], form.from);
  const std::string floats =
      code.op("{} {} {} to <32 x float>", form.from.kind == 's' ? "sitofp" : "uitofp", vector_type(form.from.bits), x);
  code.write(in.operands[0], code.as_bits(floats), {'f', 32});
}

void emit_cvt_float(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string x = rounded_to_integer(code, form, code.single(in.operands[1], form.has("ftz")));
  code.write(in.operands[0], finished(code, form, x), form.type);
}

void emit_cvt_half(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& to = form.parts[form.parts.size() - 2];
  const bool brain = to.starts_with("bf16") || form.parts.back() == "bf16";
  if (to == "f32") {
    const std::string bits = code.value(in.operands[1], {'b', 16});
    std::string floats;
    if (brain) {
      const std::string wide = code.op("zext <32 x i16> {} to <32 x i32>", bits);
      floats = code.as_float(code.op("shl <32 x i32> {}, splat (i32 16)", wide));
    } else {
      floats = code.op("fpext {} {} to <32 x float>", kHalfs, code.op("bitcast <32 x i16> {} to {}", bits, kHalfs));
    }
    return code.write(in.operands[0], finished(code, form, floats), {'f', 32});
  }
  const std::string first = to_half(code, code.value(in.operands[1], {'f', 32}), brain);
  if (!to.ends_with("x2")) return code.write(in.operands[0], first, {'b', 16});
  const std::string second = to_half(code, code.value(in.operands[2], {'f', 32}), brain);
  const std::string high =
      code.op("shl <32 x i32> {}, splat (i32 16)", code.op("zext <32 x i16> {} to <32 x i32>", first));
  code.write(in.operands[0], code.op("or <32 x i32> {}, {}", high, code.op("zext <32 x i16> {} to <32 x i32>", second)),
             {'b', 32});
}

}  // namespace flashproof::ptx
