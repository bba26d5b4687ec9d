#include "kernels/ptx/parse/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/parse/split.h"
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/special_functions.h"

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

int Form::columns() const {
  int columns = 0;  // "m64n128k16"
  for (std::size_t i = 4; i < parts[4].size() && parts[4][i] != 'k'; ++i) columns = 10 * columns + (parts[4][i] - '0');
  return columns;
}

int Form::axes() const { return one_of({"1d", "2d", "3d", "4d", "5d"}).front() - '0'; }

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
    rule.elements = rule.kind == 't'   ? form.axes()
                    : rule.kind == 'u' ? form.columns() / 2
                    : rule.kind == 'a' ? 4
                                       : form.vector_size();
    if (!word.empty() && word.front() >= '1' && word.front() <= '4') {
      rule.elements = word.front() - '0';
      word.remove_prefix(1);
    }
    if (word.starts_with('|')) rule.pair = true, word.remove_prefix(1);
    if (word.starts_with('>')) rule.wider = true, word.remove_prefix(1);
    rule.type = rule_type(form, word.starts_with(':') ? word.substr(1) : word);
    rules.push_back(rule);
  }
  return rules;
}

Effects effects_of(const std::vector<OperandRule>& rules, const Instruction& instruction) {
  Effects effects;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const char kind = rules[i].kind;
    if (kind == 'd' || kind == 'P' || kind == 'v' || kind == 'u') add_written(instruction.operands[i], effects.writes);
    if (kind != 'd' && kind != 'P' && kind != 'v') {
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
