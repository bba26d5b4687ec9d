// f32 arithmetic: one rounding each, NaN results 0x7fffffff.
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/special_functions.h"

namespace flashproof::ptx {
namespace {

constexpr const char* kQuiet = "splat (i32 2147483647)";  // 0x7fffffff

/// x + y and so on, rounded to nearest even.
std::string nearest(BlockCode& code, std::string_view opcode, const std::vector<std::string>& x) {
  constexpr const char* kOne = "splat (float 1.0)";
  if (opcode == "add") return code.op("fadd <32 x float> {}, {}", x[0], x[1]);
  if (opcode == "sub") return code.op("fsub <32 x float> {}, {}", x[0], x[1]);
  if (opcode == "mul") return code.op("fmul <32 x float> {}, {}", x[0], x[1]);
  if (opcode == "div") return code.op("fdiv <32 x float> {}, {}", x[0], x[1]);
  if (opcode == "rcp") return code.op("fdiv <32 x float> {}, {}", kOne, x[0]);
  if (opcode == "sqrt") return code.op("call <32 x float> @llvm.sqrt.v32f32(<32 x float> {})", x[0]);
  return code.op("call <32 x float> @llvm.fma.v32f32(<32 x float> {}, <32 x float> {}, <32 x float> {})", x[0], x[1],
                 x[2]);
}

/// The same in another direction, by the runtime: an optimiser may move arithmetic, but not a call.
std::string directed(BlockCode& code, std::string_view opcode, std::string_view rounding,
                     const std::vector<std::string>& x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    code.line("store <32 x float> {}, ptr {}, align 128", x[i], code.room_of(0, static_cast<int>(i), 32));
  }
  code.line("call void @ptx_rounded(i32 {}, i32 {}, ptr {}, ptr {})", rounded_operation(opcode),
            rounding_mode(rounding), code.room(0), code.room(1));
  return code.op("load <32 x float>, ptr {}, align 128", code.room(1));
}

std::string is_nan(BlockCode& code, const std::string& x) { return code.op("fcmp uno <32 x float> {0}, {0}", x); }

std::string select_bits(BlockCode& code, const std::string& condition, const std::string& yes, const std::string& no) {
  return code.op("select <32 x i1> {}, <32 x i32> {}, <32 x i32> {}", condition, yes, no);
}

}  // namespace

std::string flushed(BlockCode& code, const std::string& bits) {
  const std::string exponent = code.op("and <32 x i32> {}, splat (i32 2139095040)", bits);
  const std::string small = code.op("icmp eq <32 x i32> {}, zeroinitializer", exponent);
  const std::string zero = code.op("and <32 x i32> {}, splat (i32 -2147483648)", bits);
  return select_bits(code, small, zero, bits);
}

std::string finished(BlockCode& code, const Form& form, const std::string& floats) {
  std::string result = floats;
  if (form.has("sat")) {  // NaN and what is below +0 become +0
    const std::string above = code.op("fcmp ogt <32 x float> {}, zeroinitializer", result);
    result = code.op("select <32 x i1> {}, <32 x float> {}, <32 x float> zeroinitializer", above, result);
    const std::string below = code.op("fcmp olt <32 x float> {}, splat (float 1.0)", result);
    result = code.op("select <32 x i1> {}, <32 x float> {}, <32 x float> splat (float 1.0)", below, result);
  }
  const std::string bits = select_bits(code, is_nan(code, result), kQuiet, code.as_bits(result));
  return form.has("ftz") ? flushed(code, bits) : bits;
}

void emit_float_arithmetic(BlockCode& code, const Form& form, const Instruction& in) {
  std::vector<std::string> x;
  for (std::size_t i = 1; i < in.operands.size(); ++i) x.push_back(code.single(in.operands[i], form.has("ftz")));
  const std::string_view rounding = form.one_of({"rz", "rm", "rp", "rn"});
  const std::string result =
      rounding == "rn" ? nearest(code, form.parts[0], x) : directed(code, form.parts[0], rounding, x);
  code.write(in.operands[0], finished(code, form, result), form.type);
}

void emit_float_extremum(BlockCode& code, const Form& form, const Instruction& in) {
  const bool is_max = form.parts[0] == "max";
  const std::string a = code.single(in.operands[1], form.has("ftz"));
  const std::string b = code.single(in.operands[2], form.has("ftz"));
  const std::string a_bits = code.as_bits(a), b_bits = code.as_bits(b);
  const std::string beyond = code.op("fcmp {} <32 x float> {}, {}", is_max ? "ogt" : "olt", a, b);
  std::string result = select_bits(code, beyond, a_bits, b_bits);
  const std::string equal = code.op("fcmp oeq <32 x float> {}, {}", a, b);  // only zeros differ in bits: -0 < +0
  result = select_bits(code, equal, code.op("{} <32 x i32> {}, {}", is_max ? "and" : "or", a_bits, b_bits), result);
  const std::string a_nan = is_nan(code, a), b_nan = is_nan(code, b);
  std::string nan;
  if (form.has("NaN")) {
    nan = code.op("or <32 x i1> {}, {}", a_nan, b_nan);
  } else {
    nan = code.op("and <32 x i1> {}, {}", a_nan, b_nan);
    result = select_bits(code, a_nan, b_bits, result);
    result = select_bits(code, b_nan, a_bits, result);
  }
  code.write(in.operands[0], select_bits(code, nan, kQuiet, result), form.type);
}

void emit_float_sign(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string bits = code.value(in.operands[1], form.type);
  const std::string changed = form.parts[0] == "abs" ? code.op("and <32 x i32> {}, splat (i32 2147483647)", bits)
                                                     : code.op("xor <32 x i32> {}, splat (i32 -2147483648)", bits);
  code.write(in.operands[0], finished(code, form, code.as_float(changed)), form.type);
}

void emit_copysign(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string sign = code.op("and <32 x i32> {}, splat (i32 -2147483648)", code.value(in.operands[1], form.type));
  const std::string rest = code.op("and <32 x i32> {}, splat (i32 2147483647)", code.value(in.operands[2], form.type));
  code.write(in.operands[0], code.op("or <32 x i32> {}, {}", sign, rest), form.type);
}

void emit_testp(BlockCode& code, const Form& form, const Instruction& in) {
  static constexpr std::pair<std::string_view, int> kClasses[] = {// of llvm.is.fpclass
                                                                  {"finite", 0x1f8}, {"infinite", 0x204},
                                                                  {"number", 0x3fc}, {"notanumber", 0x003},
                                                                  {"normal", 0x108}, {"subnormal", 0x090}};
  int mask = 0;
  for (const auto& [name, bits] : kClasses) {
    if (form.has(name)) mask = bits;
  }
  code.write_predicate(in.operands[0], code.op("call <32 x i1> @llvm.is.fpclass.v32f32(<32 x float> {}, i32 {})",
                                               code.single(in.operands[1]), mask));
}

void emit_special_function(BlockCode& code, const Form& form, const Instruction& in) {
  code.line("store <32 x i32> {}, ptr {}, align 128", code.value(in.operands[1], form.type), code.room(0));
  code.line("call void @{}(ptr {}, ptr {})", special_function(form.name)->symbol, code.room(0), code.room(1));
  code.write(in.operands[0], code.op("load <32 x i32>, ptr {}, align 128", code.room(1)), form.type);
}

}  // namespace flashproof::ptx
