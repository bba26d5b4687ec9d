// cvt between integers, f64, f32, f16 and bf16 (PTX ISA 9.7.9: cvt).
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/floats.h"

namespace flashproof::ptx {
namespace {

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

std::string rounded_to_integer(BlockCode& code, const Floats& floats, const Form& form, const std::string& x) {
  static constexpr std::pair<std::string_view, const char*> kRoundings[] = {
      {"rni", "roundeven"}, {"rzi", "trunc"}, {"rmi", "floor"}, {"rpi", "ceil"}};
  for (const auto& [name, function] : kRoundings) {
    if (form.has(name)) {
      return code.op("call {0} @llvm.{1}.{2}({0} {3})", floats.wide_type(), function, floats.wide_name(), x);
    }
  }
  return x;
}

/// Integers of 64 bits -> doubles, rounded to odd: what 53 bits do not hold becomes the bit before.
std::string odd_doubles(BlockCode& code, const std::string& x, Type from) {
  const char* opcode = from.kind == 's' ? "sitofp" : "uitofp";
  if (from.bits < 64) return code.op("{} {} {} to <32 x double>", opcode, vector_type(from.bits), x);
  const auto word = [&](const char* operation, const std::string& a, const char* b) {
    return code.op("{} <32 x i64> {}, {}", operation, a, b);
  };
  const std::string low = word("icmp ne", word("and", x, "splat (i64 4095)"), "zeroinitializer");
  const std::string sticky =
      code.op("select <32 x i1> {}, <32 x i64> splat (i64 2048), <32 x i64> zeroinitializer", low);
  const std::string cut = word("and", x, "splat (i64 -4096)");
  const std::string odd = code.op("or <32 x i64> {}, {}", cut, sticky);
  const std::string size =
      from.kind == 's' ? code.op("call <32 x i64> @llvm.abs.v32i64(<32 x i64> {}, i1 false)", x) : x;
  const std::string exact = word("icmp ult", size, "splat (i64 9007199254740992)");
  const std::string kept = code.op("select <32 x i1> {}, <32 x i64> {}, <32 x i64> {}", exact, x, odd);
  return code.op("{} <32 x i64> {} to <32 x double>", opcode, kept);
}

/// Nothing to round: the bits stay, those of a NaN, too (measured; f16 to f16 makes every NaN the one).
bool is_move(const Form& form) {
  return form.name == "cvt.f32.bf16" || form.name == "cvt.f32.f32" || form.name == "cvt.f64.f64";
}

}  // namespace

void emit_cvt_integer(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string x = code.value(in.operands[1], form.from);
  const std::string result =
      form.has("sat") ? saturated(code, x, form.from, form.type) : extended(code, x, form.from, form.type.bits);
  code.write(in.operands[0], result, form.type);
}

/// Out of range: the nearest number. NaN: 0, but half the range where 64 bits are on either side (PTX ISA 9.0, 9.7.9: cvt).
void emit_cvt_to_integer(BlockCode& code, const Form& form, const Instruction& in) {
  Floats floats(code, form.parts.back());
  const std::string x = floats.wide(floats.read(in.operands[1], form.has("ftz")));
  const std::string whole = rounded_to_integer(code, floats, form, x);
  const int bits = form.type.bits;
  const std::string type = vector_type(bits);
  std::string result = code.op("call {} @llvm.fpto{}i.sat.v32i{}.{}({} {})", type, form.type.kind == 's' ? "s" : "u",
                               bits, floats.wide_name(), floats.wide_type(), whole);
  if (bits == 64 || floats.bits() == 64) {
    result = code.op("select <32 x i1> {0}, {1} {2}, {1} {3}", floats.is_nan(x), type,
                     integer_splat(1ULL << (bits - 1), bits), result);
  }
  code.write(in.operands[0], result, form.type);
}

void emit_cvt_from_integer(BlockCode& code, const Form& form, const Instruction& in) {
  Floats floats(code, form.parts[form.parts.size() - 2]);
  const std::string x = code.value(in.operands[1], form.from);
  const Rounding rounding = rounding_of(form);
  std::string bits;
  if (!floats.is_half() && rounding == Rounding::nearest) {
    const std::string number = code.op("{} {} {} to {}", form.from.kind == 's' ? "sitofp" : "uitofp",
                                       vector_type(form.from.bits), x, floats.wide_type());
    bits = floats.narrow(number, rounding);
  } else {
    bits = floats.narrow_double(odd_doubles(code, x, form.from), rounding);
  }
  floats.write(in.operands[0], floats.finished(form, bits, false));
}

/// To 11 bits, the lower 13 zero. Measured on an H200 for every input: .rna cuts a NaN's bits as well, which may leave an infinity, and
/// .satfinite takes the number before what is beyond, a NaN or not; .rn and .rz have one NaN.
void emit_cvt_tf32(BlockCode& code, const Form& form, const Instruction& in) {
  const auto word = [&](const char* operation, const std::string& a, const std::string& b) {
    return code.op("{} <32 x i32> {}, {}", operation, a, b);
  };
  const auto constant = [](std::uint64_t x) { return integer_splat(x, 32); };
  const auto select = [&](const std::string& which, const std::string& a, const std::string& b) {
    return code.op("select <32 x i1> {}, <32 x i32> {}, <32 x i32> {}", which, a, b);
  };
  const std::string x = code.value(in.operands[1], {'b', 32});
  const std::string is_nan = word("icmp ugt", word("and", x, constant(0x7fffffff)), constant(0x7f800000));
  const std::string sign = word("and", x, constant(0x80000000));
  std::string added = constant(0);
  if (form.has("rna")) added = select(is_nan, added, constant(0x1000));
  if (form.has("rn")) added = word("add", word("and", word("lshr", x, constant(13)), constant(1)), constant(0xfff));
  std::string result = word("and", word("add", x, added), constant(0xffffe000));
  if (form.has("satfinite")) {
    const std::string is_beyond = word("icmp uge", word("and", result, constant(0x7fffffff)), constant(0x7f800000));
    result = select(is_beyond, word("sub", result, constant(0x2000)), result);
  }
  if (form.has("relu")) result = select(word("icmp ne", sign, constant(0)), constant(0), result);
  if (!form.has("rna")) result = select(is_nan, constant(0x7fffe000), result);
  code.write(in.operands[0], result, {'b', 32});
}

/// Float to float, by way of the wider of f32 and what is read. Of two f32 to a pair: the first operand is the high half.
void emit_cvt_float(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string &to = form.parts[form.parts.size() - 2], &from = form.parts.back();
  Floats source(code, from), result(code, to.substr(0, to.find("x2")));
  std::string bits[2];
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    const bool flush =
        form.has("ftz") && from == "f32" && to != "f16";  // measured: subnormals round to f16 as they are
    const std::string read = source.read(in.operands[i], flush);
    if (is_move(form)) return result.write(in.operands[0], result.narrow(source.wide(read), Rounding::nearest));
    // the unit of f32, which flushes, has one NaN
    const std::string nan = result.nan_from(source, flush ? source.splat(source.quiet()) : read);
    std::string x = source.wide(read);
    x = rounded_to_integer(code, source, form, x);
    if (source.bits() == 64) {
      const std::string above = form.has("ftz") ? source.raised(x) : "";
      x = result.narrow_double(x, rounding_of(form));
      if (!above.empty()) x = result.flushed_below(x, result.narrow_double(above, rounding_of(form)));
    } else if (result.bits() == 64) {
      x = result.narrow(code.op("fpext {} {} to {}", source.wide_type(), x, result.wide_type()), Rounding::nearest);
    } else {
      x = result.narrow(x, rounding_of(form));
    }
    bits[i - 1] = result.finished(form, x, form.has("ftz") && to == "f32", nan);
  }
  if (in.operands.size() == 2) return result.write(in.operands[0], bits[0]);
  const std::string high =
      code.op("shl <32 x i32> {}, splat (i32 16)", code.op("zext <32 x i16> {} to <32 x i32>", bits[0]));
  const std::string low = code.op("zext <32 x i16> {} to <32 x i32>", bits[1]);
  code.write(in.operands[0], code.op("or <32 x i32> {}, {}", high, low), {'b', 32});
}

}  // namespace flashproof::ptx
