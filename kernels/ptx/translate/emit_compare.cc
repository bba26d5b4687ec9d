// Predicates: comparisons, selection, logic.
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

std::string comparison(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string& wanted = form.parts[1];
  if (form.type.kind == 'f') {
    static constexpr std::pair<std::string_view, const char*> kFloat[] = {
        {"eq", "oeq"},  {"ne", "one"},  {"lt", "olt"},  {"le", "ole"},  {"gt", "ogt"},  {"ge", "oge"},  {"num", "ord"},
        {"equ", "ueq"}, {"neu", "une"}, {"ltu", "ult"}, {"leu", "ule"}, {"gtu", "ugt"}, {"geu", "uge"}, {"nan", "uno"}};
    const bool flush = form.has("ftz");
    const std::string a = code.single(in.operands[1], flush), b = code.single(in.operands[2], flush);
    for (const auto& [name, predicate] : kFloat) {
      if (name == wanted) return code.op("fcmp {} <32 x float> {}, {}", predicate, a, b);
    }
  }
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

}  // namespace

void emit_setp(BlockCode& code, const Form& form, const Instruction& in) {
  std::string yes = comparison(code, form, in);
  std::string no = code.op("xor <32 x i1> {}, splat (i1 true)", yes);
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
