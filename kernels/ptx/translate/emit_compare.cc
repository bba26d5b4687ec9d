// Predicates: comparisons, selection, logic.
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/floats.h"

namespace flashproof::ptx {
namespace {

/// Lanes where the comparison holds; twice as many of packed floats.
std::string float_comparison(BlockCode& code, const Form& form, const Instruction& in) {
  static constexpr std::pair<std::string_view, const char*> kFloat[] = {
      {"eq", "oeq"},  {"ne", "one"},  {"lt", "olt"},  {"le", "ole"},  {"gt", "ogt"},  {"ge", "oge"},  {"num", "ord"},
      {"equ", "ueq"}, {"neu", "une"}, {"ltu", "ult"}, {"leu", "ule"}, {"gtu", "ugt"}, {"geu", "uge"}, {"nan", "uno"}};
  Floats floats(code, form.parts.back());
  std::string x[2];
  for (std::size_t i = 0; i < 2; ++i) x[i] = floats.wide(floats.read(in.operands[i + 1], form.has("ftz")));
  std::string predicate;
  for (const auto& [name, llvm] : kFloat) {
    if (name == form.parts[1]) predicate = llvm;
  }
  return code.op("fcmp {} {} {}, {}", predicate, floats.wide_type(), x[0], x[1]);
}

bool is_float(const Form& form) { return form.type.kind == 'f' || form.parts.back().find('f') != std::string::npos; }

std::string comparison(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& wanted = form.parts[1];
  if (is_float(form)) return float_comparison(code, form, in);
  static constexpr std::pair<std::string_view, const char*> kUnsigned[] = {
      {"lo", "ult"}, {"ls", "ule"}, {"hi", "ugt"}, {"hs", "uge"}};
  std::string predicate = wanted;
  for (const auto& [name, llvm] : kUnsigned) {
    if (name == wanted) predicate = llvm;
  }
  if (wanted == "lt" || wanted == "le" || wanted == "gt" || wanted == "ge") {
    predicate = (form.type.kind == 's' ? "s" : "u") + wanted;
  }
  const std::string a = code.value(in.operands[1], form.type), b = code.value(in.operands[2], form.type);
  return code.op("icmp {} {} {}, {}", predicate, vector_type(form.type.bits), a, b);
}

/// Every other one of 64 lanes, from `first` on.
std::string half_of(BlockCode& code, const std::string& bools, int first) {
  std::string order;
  for (int lane = 0; lane < kLanes; ++lane) order += fmt::format("{}i32 {}", lane == 0 ? "" : ", ", 2 * lane + first);
  return code.op("shufflevector <64 x i1> {}, <64 x i1> poison, <32 x i32> <{}>", bools, order);
}

}  // namespace

void emit_setp(BlockCode& code, const Form& form, const Instruction& in) {
  std::string yes = comparison(code, form, in), no;
  if (form.parts.back().ends_with("x2")) {  // the pair is of the halves, the low one first
    no = half_of(code, yes, 1);
    yes = half_of(code, yes, 0);
  } else {
    no = code.op("xor <32 x i1> {}, splat (i1 true)", yes);
  }
  if (in.operands.size() == 4) {
    const std::string other = code.predicate(in.operands[3]);
    const std::string_view how = form.one_of({"and", "or", "xor"});
    yes = code.op("{} <32 x i1> {}, {}", how, yes, other);
    no = code.op("{} <32 x i1> {}, {}", how, no, other);
  }
  const bool pair = in.operands[0].kind == Operand::Kind::pair;
  code.write_predicate(pair ? in.operands[0].parts[0] : in.operands[0], yes);
  if (pair) code.write_predicate(in.operands[0].parts[1], no);
}

/// Ones in all bits of an integer, 1.0 of a float, or 0: of each half where two are compared.
void emit_set(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& to = form.parts[form.parts.size() - 2];
  const bool packed = form.parts.back().ends_with("x2");
  const int bits = packed ? 16 : type_of(to)->bits;
  const std::string type = fmt::format("<{} x i{}>", packed ? 2 * kLanes : kLanes, bits);
  const std::uint64_t one = to.starts_with("bf16") ? 0x3f80 : to.starts_with("f16") ? 0x3c00 : 0x3f800000;
  const std::string yes = to.find('f') == std::string::npos ? integer_splat(~0ULL, bits) : integer_splat(one, bits);
  const std::string holds = comparison(code, form, in);
  std::string result =
      code.op("select <{0} x i1> {1}, {2} {3}, {2} zeroinitializer", packed ? 2 * kLanes : kLanes, holds, type, yes);
  if (packed) result = code.op("bitcast {} {} to <32 x i32>", type, result);
  code.write(in.operands[0], result, {'b', packed ? 32 : bits});
}

void emit_selp(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string a = code.value(in.operands[1], form.type), b = code.value(in.operands[2], form.type);
  const std::string type = vector_type(form.type.bits);
  code.write(in.operands[0],
             code.op("select <32 x i1> {0}, {1} {2}, {1} {3}", code.predicate(in.operands[3]), type, a, b), form.type);
}

void emit_logic(BlockCode& code, const Form& form, const Instruction& in) {
  const bool is_predicate = form.type.kind == 'p';
  std::vector<std::string> x;
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    x.push_back(is_predicate ? code.predicate(in.operands[i]) : code.value(in.operands[i], form.type));
  }
  const std::string type = vector_type(form.type.bits);
  const std::string& opcode = form.parts[0];
  std::string result = x[0];
  if (opcode == "not") {
    result = code.op("xor {} {}, splat (i{} {})", type, x[0], form.type.bits, is_predicate ? "true" : "-1");
  } else if (opcode != "mov") {
    result = code.op("{} {} {}, {}", opcode, type, x[0], x[1]);
  }
  code.write(in.operands[0], result, form.type);
}

}  // namespace flashproof::ptx
