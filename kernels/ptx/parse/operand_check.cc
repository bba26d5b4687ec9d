// Number, kind and width of an instruction's operands, by the rules of its form.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/parse/lexer.h"

namespace flashproof::ptx {
namespace {

struct Checker {
  const std::string& file;
  const Form& form;
  const Entry& entry;
  const Instruction& instruction;

  [[noreturn]] void refuse_operand(std::size_t number, const std::string& what) const {
    refuse(file, instruction.line, fmt::format("{}: operand {}: {}", form.name, number + 1, what));
  }

  void check_register(std::size_t number, const Operand& operand, Type type, bool wider) const {
    const Register& reg = entry.registers[static_cast<std::size_t>(operand.reg)];
    const bool predicate = reg.type.kind == 'p';
    if (predicate != (type.kind == 'p') || reg.type.bits > 64 ||
        (wider ? reg.type.bits < type.bits : reg.type.bits != type.bits)) {
      refuse_operand(number, fmt::format("register {} has {} bits{}, wanted {}{}", shown(reg.name), reg.type.bits,
                                         predicate ? " (a predicate)" : "", wider ? "at least " : "", type.bits));
    }
    if (operand.negated && type.kind != 'p') refuse_operand(number, "'!' is for predicates");
  }

  void check_written(std::size_t number, const Operand& operand, Type type, bool wider) const {
    if (operand.kind == Operand::Kind::symbol && operand.name == "_" && operand.bits == 0) return;
    if (operand.kind != Operand::Kind::reg || operand.negated) refuse_operand(number, "a register is written there");
    check_register(number, operand, type, wider);
  }

  void check_read(std::size_t number, const Operand& operand, Type type, bool wider) const {
    if (operand.kind == Operand::Kind::reg) return check_register(number, operand, type, wider);
    if (!operand.is_immediate() || (type.kind != 'f' && operand.kind == Operand::Kind::real) ||
        (operand.kind == Operand::Kind::single && type.bits != 32)) {
      refuse_operand(number, fmt::format("a register or a number of {} bits is read there", type.bits));
    }
    if (type.kind == 'f' && operand.kind == Operand::Kind::integer)
      refuse_operand(number, "an integer stands for a float");
  }

  /// The elements of a vector operand, or the operand itself.
  void check_vector(std::size_t number, const Operand& operand, const OperandRule& rule, bool written) const {
    const auto size = static_cast<std::size_t>(rule.elements);
    const bool braces = operand.kind == Operand::Kind::vector;
    if (braces ? operand.parts.size() != size : size != 1) {
      refuse_operand(number, fmt::format("{} elements wanted", size));
    }
    for (std::size_t i = 0; i < size; ++i) {
      const Operand& part = braces ? operand.parts[i] : operand;
      written ? check_written(number, part, rule.type, rule.wider) : check_read(number, part, rule.type, rule.wider);
    }
  }

  void check_move_source(std::size_t number, const Operand& operand, Type type) const {
    if (operand.kind == Operand::Kind::special) return;  // its name: emit_move.cc
    if (operand.kind == Operand::Kind::symbol && operand.name != "_") return;
    if (operand.kind == Operand::Kind::integer && type.kind == 'f') return;
    if (operand.kind != Operand::Kind::vector) return check_read(number, operand, type, false);
    const int parts = static_cast<int>(operand.parts.size());
    if ((parts != 2 && parts != 4) || type.bits % parts != 0) refuse_operand(number, "2 or 4 elements wanted");
    for (const Operand& part : operand.parts) check_read(number, part, {'b', type.bits / parts}, false);
  }

  void check(std::size_t number, const Operand& operand, const OperandRule& rule) const {
    using Kind = Operand::Kind;
    switch (rule.kind) {
      case 'd':
        if (form.parts[0] == "mov" && operand.kind == Kind::vector) {
          const int parts = static_cast<int>(operand.parts.size());
          if ((parts != 2 && parts != 4) || rule.type.bits % parts != 0)
            refuse_operand(number, "2 or 4 elements wanted");
          for (const Operand& part : operand.parts) check_written(number, part, {'b', rule.type.bits / parts}, false);
          return;
        }
        [[fallthrough]];
      case 'P': {
        const Type type = rule.kind == 'P' ? Type{'p', 1} : rule.type;
        if (operand.kind != Kind::pair) return check_written(number, operand, type, rule.wider);
        if (!rule.pair) refuse_operand(number, "no pair is written there");
        check_written(number, operand.parts[0], type, rule.wider);
        return check_written(number, operand.parts[1], {'p', 1}, false);
      }
      case 'p':
        if (operand.kind == Kind::integer) return;  // 0 is false
        if (operand.kind != Kind::reg) refuse_operand(number, "a predicate is read there");
        return check_register(number, operand, {'p', 1}, false);
      case 's':
        return check_read(number, operand, rule.type, rule.wider);
      case 'x':
        return check_move_source(number, operand, rule.type);
      case 'v':
      case 'w':
        return check_vector(number, operand, rule, rule.kind == 'v');
      case 'u':
        if (operand.kind != Kind::vector) refuse_operand(number, fmt::format("{} elements wanted", rule.elements));
        return check_vector(number, operand, rule, true);
      case 'a':
        if (operand.kind == Kind::vector) return check_vector(number, operand, rule, false);
        return check_read(number, operand, {'b', 64}, false);
      case 'm':
      case 't':
        if (operand.kind != Kind::address || operand.parts.size() != (rule.kind == 't' ? 1 : 0))
          refuse_operand(number, rule.kind == 't' ? "a tensor map and its coordinates are wanted there"
                                                  : "an address is wanted there");
        if (rule.kind == 't')
          check_vector(number, operand.parts[0], {'w', false, false, false, rule.elements, {'s', 32}}, false);
        if (operand.reg >= 0) {
          const Type type = entry.registers[static_cast<std::size_t>(operand.reg)].type;
          if (type.bits != 32 && type.bits != 64) refuse_operand(number, "an address is a register of 32 or 64 bits");
        }
        return;
      case 'C':
        return;
      case 'L':
        if (operand.kind != Kind::label) refuse_operand(number, fmt::format("'{}' is no label", shown(operand.name)));
        return;
      default:
        if (operand.kind != Kind::integer) refuse_operand(number, "an integer is wanted there");
    }
  }
};

}  // namespace

std::vector<OperandRule> checked_operands(const std::string& file, const Form& form, const Entry& entry,
                                          const Instruction& instruction) {
  std::vector<OperandRule> rules = rules_of(form);
  const std::size_t count = instruction.operands.size();
  while (rules.size() > count) {  // the first that may be missing is
    const auto missing = std::ranges::find(rules, true, &OperandRule::optional);
    if (missing == rules.end()) break;
    rules.erase(missing);
  }
  if (rules.size() != count) {
    refuse(file, instruction.line, fmt::format("{}: {} operands, wanted {}", form.name, count, rules.size()));
  }
  const Checker checker{file, form, entry, instruction};
  for (std::size_t i = 0; i < count; ++i) checker.check(i, instruction.operands[i], rules[i]);
  return rules;
}

}  // namespace flashproof::ptx
