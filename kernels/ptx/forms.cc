#include "kernels/ptx/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/ptx/emit.h"
#include "kernels/ptx/lexer.h"
#include "kernels/ptx/special_functions.h"

namespace flashproof::ptx {
namespace {

/// The end of the alternative or of the braces that starts at `at`: the next ',' or '}' of its own level.
std::size_t end_of_alternative(std::string_view pattern, std::size_t at) {
  for (int depth = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '{') ++depth;
    if (depth == 0 && (pattern[at] == ',' || pattern[at] == '}')) return at;
    if (pattern[at] == '}') --depth;
  }
  return at;
}

/// `rest`: what must match behind the pattern.
bool matches_before(std::string_view pattern, std::string_view name, std::string_view rest);

bool matches_alternatives(std::string_view pattern, std::string_view name, std::string_view rest) {
  std::size_t close = 1;
  while (pattern[close = end_of_alternative(pattern, close)] != '}') ++close;
  const std::string after = std::string(pattern.substr(close + 1)) + std::string(rest);
  for (std::size_t at = 1; at <= close;) {
    const std::size_t end = end_of_alternative(pattern, at);
    if (matches_before(pattern.substr(at, end - at), name, after)) return true;
    at = end + 1;
  }
  return false;
}

bool matches_before(std::string_view pattern, std::string_view name, std::string_view rest) {
  while (!pattern.empty() && pattern.front() != '{') {
    if (name.empty() || name.front() != pattern.front()) return false;
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  if (!pattern.empty()) return matches_alternatives(pattern, name, rest);
  return rest.empty() ? name.empty() : matches_before(rest, name, {});
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Form make_form(std::string_view name, const FormRow& row) {
  Form form{.name = std::string(name), .parts = split(name, '.'), .type = {}, .from = {}, .row = &row};
  std::vector<Type> types;
  for (std::size_t i = 1; i < form.parts.size(); ++i) {
    if (const auto type = type_of(form.parts[i])) types.push_back(*type);
  }
  if (!types.empty()) {
    form.type = form.parts[0] == "cvt" ? types.front() : types.back();
    form.from = types.back();
  }
  return form;
}

Type rule_type(const Form& form, std::string_view text) {
  if (text.empty()) return form.type;
  if (text == "from") return form.from;
  if (text == "wide") return {form.type.kind, 2 * form.type.bits};
  return type_of(text).value_or(form.type);
}

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
    const auto size = static_cast<std::size_t>(form.vector_size());
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
      case 'm':
        if (operand.kind != Kind::address || !operand.parts.empty())
          refuse_operand(number, "an address is wanted there");
        if (operand.reg >= 0) {
          const Type type = entry.registers[static_cast<std::size_t>(operand.reg)].type;
          if (type.bits != 32 && type.bits != 64) refuse_operand(number, "an address is a register of 32 or 64 bits");
        }
        return;
      case 'L':
        if (operand.kind != Kind::label) refuse_operand(number, fmt::format("'{}' is no label", shown(operand.name)));
        return;
      default:
        if (operand.kind != Kind::integer) refuse_operand(number, "an integer is wanted there");
    }
  }
};

void add_written(const Operand& operand, std::vector<int>& writes) {
  if (operand.kind == Operand::Kind::reg) writes.push_back(operand.reg);
  for (const Operand& part : operand.parts) add_written(part, writes);
}

void add_read(const Operand& operand, std::vector<int>& reads) {
  if (operand.reg >= 0) reads.push_back(operand.reg);
  for (const Operand& part : operand.parts) add_read(part, reads);
}

}  // namespace

bool Form::has(std::string_view part) const { return std::ranges::find(parts, part) != parts.end(); }

std::string_view Form::one_of(std::initializer_list<std::string_view> wanted) const {
  for (const std::string_view part : wanted) {
    if (has(part)) return part;
  }
  return *(wanted.end() - 1);
}

bool matches(std::string_view pattern, std::string_view name) { return matches_before(pattern, name, {}); }

const Form* find_form(std::string_view name) {
  static std::map<std::string, std::unique_ptr<Form>, std::less<>> known;
  if (const auto found = known.find(name); found != known.end()) return found->second.get();
  if (name.size() > 128) return nullptr;
  for (const FormRow& row : form_rows()) {
    if (!matches(row.pattern, name)) continue;
    if (row.emit == emit_special_function && special_function(name) == nullptr) return nullptr;
    return known.emplace(std::string(name), std::make_unique<Form>(make_form(name, row))).first->second.get();
  }
  return nullptr;
}

std::vector<OperandRule> rules_of(const Form& form) {
  std::vector<OperandRule> rules;
  if (form.row->operands.empty()) return rules;
  for (std::string_view word : split(form.row->operands, ' ')) {
    OperandRule rule{};
    if (word.front() == '?') rule.optional = true, word.remove_prefix(1);
    rule.kind = word.front();
    word.remove_prefix(1);
    if (word.starts_with('|')) rule.pair = true, word.remove_prefix(1);
    if (word.starts_with('>')) rule.wider = true, word.remove_prefix(1);
    rule.type = rule_type(form, word.starts_with(':') ? word.substr(1) : word);
    rules.push_back(rule);
  }
  return rules;
}

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

Effects effects_of(const std::vector<OperandRule>& rules, const Instruction& instruction) {
  Effects effects;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const char kind = rules[i].kind;
    if (kind == 'd' || kind == 'P' || kind == 'v') {
      add_written(instruction.operands[i], effects.writes);
    } else {
      add_read(instruction.operands[i], effects.reads);
    }
  }
  if (instruction.guard >= 0) {  // what it writes stays as it was in lanes whose guard is false
    effects.reads.push_back(instruction.guard);
    effects.reads.insert(effects.reads.end(), effects.writes.begin(), effects.writes.end());
  }
  return effects;
}

}  // namespace flashproof::ptx
