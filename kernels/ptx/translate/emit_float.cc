// Arithmetic of f32 and f64, and what floats of every format have in common. One rounding each, one NaN
// (PTX ISA 9.7.3, 9.7.4: floating point and half precision floating point instructions).
#include <algorithm>

#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/floats.h"
#include "kernels/ptx/translate/special_functions.h"

namespace flashproof::ptx {
namespace {

/// x + y and so on, rounded to nearest even.
std::string nearest(BlockCode& code, const Floats& floats, std::string_view opcode, const std::vector<std::string>& x) {
  static constexpr std::pair<std::string_view, const char*> kOperations[] = {
      {"add", "fadd"}, {"sub", "fsub"}, {"mul", "fmul"}, {"div", "fdiv"}};
  const std::string type = floats.wide_type();
  for (const auto& [name, operation] : kOperations) {
    if (name == opcode) return code.op("{} {} {}, {}", operation, type, x[0], x[1]);
  }
  if (opcode == "rcp") {
    return code.op("fdiv {} splat ({} 1.0), {}", type, floats.bits() == 64 ? "double" : "float", x[0]);
  }
  if (opcode == "sqrt") return code.op("call {0} @llvm.sqrt.{1}({0} {2})", type, floats.wide_name(), x[0]);
  return code.op("call {0} @llvm.fma.{1}({0} {2}, {0} {3}, {0} {4})", type, floats.wide_name(), x[0], x[1], x[2]);
}

/// The same in another direction, by the runtime: an optimiser may move arithmetic, but not a call.
std::string directed(BlockCode& code, const Floats& floats, const Form& form, const std::vector<std::string>& x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    code.line("store {} {}, ptr {}, align 128", floats.wide_type(), x[i],
              code.room_of(0, static_cast<int>(i), floats.bits()));
  }
  code.line("call void @ptx_rounded_{}(i32 {}, i32 {}, ptr {}, ptr {})", floats.bits() == 64 ? "f64" : "f32",
            rounded_operation(form.parts[0]), rounding_mode(form.one_of({"rz", "rm", "rp"})), code.room(0),
            code.room(1));
  return code.op("load {}, ptr {}, align 128", floats.wide_type(), code.room(1));
}

std::string rounded(BlockCode& code, Floats& floats, const Form& form, const std::vector<std::string>& x) {
  const bool to_nearest = rounding_of(form) == Rounding::nearest;
  const std::string result = to_nearest ? nearest(code, floats, form.parts[0], x) : directed(code, floats, form, x);
  return floats.narrow(result, Rounding::nearest);
}

/// .ftz of a result of these operands, f32. They are no subnormals, so that none that matters leaves the range when it is raised.
std::string flushed(BlockCode& code, Floats& floats, const Form& form, std::vector<std::string> x,
                    const std::string& result) {
  const std::string& opcode = form.parts[0];
  if (opcode == "add" || opcode == "sub" || opcode == "sqrt") return result;  // exact there, or never there
  x[0] = opcode == "rcp" ? floats.lowered(x[0]) : floats.raised(x[0]);
  if (x.size() == 3) x[2] = floats.raised(x[2]);
  return floats.flushed_below(result, rounded(code, floats, form, x));
}

}  // namespace

void emit_float_arithmetic(BlockCode& code, const Form& form, const Instruction& in) {
  const bool flush = form.has("ftz");
  Floats floats(code, form.parts.back());
  std::vector<std::string> bits, x;
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    bits.push_back(floats.read(in.operands[i], flush));
    x.push_back(floats.wide(bits.back()));
  }
  std::string result = rounded(code, floats, form, x);
  if (flush) result = flushed(code, floats, form, x, result);
  // Of several NaN the second operand's stays, of a fused sum the third's before the first's, of a quotient the first's.
  if (form.parts[0] != "div") std::ranges::rotate(bits, bits.size() > 1 ? bits.begin() + 1 : bits.begin());
  floats.write(in.operands[0], floats.finished(form, result, flush, floats.nan_of(bits)));
}

void emit_float_extremum(BlockCode& code, const Form& form, const Instruction& in) {
  const bool is_max = form.parts[0] == "max";
  Floats floats(code, form.parts.back());
  std::string a_bits = floats.read(in.operands[1], form.has("ftz"));
  std::string b_bits = floats.read(in.operands[2], form.has("ftz"));
  std::string sign;
  if (form.has("xorsign")) {  // of the absolute values; the sign is that of the product
    sign = floats.with("and", code.op("xor {} {}, {}", floats.type(), a_bits, b_bits), floats.sign());
    for (std::string* x : {&a_bits, &b_bits}) *x = floats.with("and", *x, floats.sign() - 1);
  }
  const std::string a = floats.wide(a_bits), b = floats.wide(b_bits);
  const auto compare = [&](const char* how) { return code.op("fcmp {} {} {}, {}", how, floats.wide_type(), a, b); };
  std::string result = floats.select(compare(is_max ? "ogt" : "olt"), a_bits, b_bits);
  const std::string joined = code.op("{} {} {}, {}", is_max ? "and" : "or", floats.type(), a_bits, b_bits);
  result = floats.select(compare("oeq"), joined, result);  // only zeros differ in bits: -0 < +0
  const std::string a_nan = floats.is_nan(a), b_nan = floats.is_nan(b);
  const std::string nan = code.op("{} {} {}, {}", form.has("NaN") ? "or" : "and", floats.bools(), a_nan, b_nan);
  if (!form.has("NaN")) {
    result = floats.select(a_nan, b_bits, result);
    result = floats.select(b_nan, a_bits, result);
  }
  if (!sign.empty()) result = code.op("or {} {}, {}", floats.type(), result, sign);
  floats.write(in.operands[0], floats.select(nan, floats.nan_of({b_bits, a_bits}), result));
}

void emit_float_sign(BlockCode& code, const Form& form, const Instruction& in) {
  Floats floats(code, form.parts.back());
  const std::string bits = floats.read(in.operands[1]);
  const std::string changed =
      form.parts[0] == "abs" ? floats.with("and", bits, floats.sign() - 1) : floats.with("xor", bits, floats.sign());
  floats.write(in.operands[0], floats.finished(form, changed, form.has("ftz"), floats.nan_of({bits})));
}

void emit_copysign(BlockCode& code, const Form& form, const Instruction& in) {
  Floats floats(code, form.parts.back());
  const std::string sign = floats.with("and", floats.read(in.operands[1]), floats.sign());
  const std::string rest = floats.with("and", floats.read(in.operands[2]), floats.sign() - 1);
  floats.write(in.operands[0], code.op("or {} {}, {}", floats.type(), sign, rest));
}

/// Zeros count as normal numbers (PTX ISA 9.7.3: testp).
void emit_testp(BlockCode& code, const Form& form, const Instruction& in) {
  static constexpr std::pair<std::string_view, int> kClasses[] = {// of llvm.is.fpclass
                                                                  {"finite", 0x1f8}, {"infinite", 0x204},
                                                                  {"number", 0x3fc}, {"notanumber", 0x003},
                                                                  {"normal", 0x168}, {"subnormal", 0x090}};
  int mask = 0;
  for (const auto& [name, bits] : kClasses) {
    if (form.has(name)) mask = bits;
  }
  Floats floats(code, form.parts.back());
  const std::string x = floats.wide(floats.read(in.operands[1]));
  code.write_predicate(in.operands[0], code.op("call <32 x i1> @llvm.is.fpclass.{}({} {}, i32 {})", floats.wide_name(),
                                               floats.wide_type(), x, mask));
}

void emit_special_function(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string type = vector_type(form.type.bits);
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    const std::string x = code.value(in.operands[i], form.type);
    code.line("store {} {}, ptr {}, align 128", type, x, code.room_of(0, static_cast<int>(i) - 1, form.type.bits));
  }
  code.line("call void @{}(ptr {}, ptr {})", special_function(form.name)->symbol, code.room(0), code.room(1));
  code.write(in.operands[0], code.op("load {}, ptr {}, align 128", type, code.room(1)), form.type);
}

}  // namespace flashproof::ptx
