#include "kernels/ptx/parse/body_parser.h"

#include <fmt/format.h>

#include <set>

#include "kernels/ptx/parse/scopes.h"

namespace flashproof::ptx {
namespace {

constexpr std::size_t kMaxNesting = 64;  // of scopes, and of braces in an operand

class BodyParser {
 public:
  BodyParser(TokenReader& reader, Entry& entry, FileSizes& sizes) : reader_(reader), entry_(entry), sizes_(sizes) {}

  void parse() {
    open_scope();
    while (!scopes_.empty()) statement();
  }

 private:
  void open_scope() {
    if (scopes_.size() == kMaxNesting) reader_.complain(fmt::format("more than {} nested braces", kMaxNesting));
    Scope scope;
    const int number = ++scopes_made_;
    int depth = 0;
    for (std::size_t i = 0; depth >= 0; ++i) {  // labels may be used before they come
      const Token& token = reader_.peek(i);
      if (token.kind == Token::Kind::end) break;
      if (token.is("{")) ++depth;
      if (token.is("}")) --depth;
      if (depth == 0 && token.kind == Token::Kind::word && reader_.peek(i + 1).is(":")) {
        const std::string name(token.text);
        if (!scope.labels.emplace(name, number == 1 ? name : fmt::format("{} of scope {}", name, number)).second) {
          reader_.complain_at(token.line, fmt::format("label {} stands twice", shown(name)));
        }
      }
    }
    scopes_.push_back(std::move(scope));
  }

  void statement() {
    if (reader_.at_end()) reader_.complain(fmt::format("'}}' expected at the end of {}", shown(entry_.name)));
    if (reader_.accept(";")) return;
    if (reader_.accept("{")) return open_scope();
    if (reader_.accept("}")) return scopes_.pop_back();
    if (reader_.peek().kind == Token::Kind::word && reader_.peek(1).is(":")) return label();
    if (reader_.peek().kind == Token::Kind::word && reader_.peek().text.front() == '.') return directive();
    instruction();
  }

  void label() {
    const Token name = reader_.take();
    reader_.take();
    entry_.labels.push_back({*scopes_.find_label(name.text), entry_.instructions.size(), name.line});
  }

  void directive() {
    const Token word = reader_.take();
    if (word.is(".reg")) return registers();
    if (word.is(".shared") || word.is(".local")) return variables(word.is(".shared") ? Space::shared : Space::local);
    if (word.is(".param")) return call_parameters();
    if (word.is(".loc")) return place();
    if (word.is(".pragma") || word.is(".callprototype")) return reader_.skip_over(";");
    reader_.complain_at(word.line, fmt::format("directive '{}' is not known here", shown(word.text)));
  }

  void registers() {
    const std::string_view name = reader_.expect_word("the type of registers");
    const auto type = type_of(name.substr(name.front() == '.' ? 1 : 0));
    if (!type) reader_.complain(fmt::format("registers of '{}' are not known here", shown(name)));
    do {
      const std::string base(reader_.expect_word("the name of a register"));
      if (!reader_.accept("<")) {
        add_register(base, *type);
        continue;
      }
      const std::int64_t count = reader_.expect_count("registers", 1, kMaxRegisters);
      if (sizes_.registers + static_cast<std::size_t>(count) > kMaxFileRegisters)
        reader_.complain(fmt::format("more than {} registers in the file", kMaxFileRegisters));
      for (std::int64_t i = 0; i < count; ++i) add_register(base + std::to_string(i), *type);
      reader_.expect(">", "behind the number of registers");
    } while (reader_.accept(","));
    reader_.expect(";", "behind a declaration of registers");
  }

  void add_register(const std::string& name, Type type) {
    if (entry_.registers.size() == kMaxRegisters)
      reader_.complain(fmt::format("more than {} registers", kMaxRegisters));
    if (!scopes_.back().registers.emplace(name, static_cast<int>(entry_.registers.size())).second) {
      reader_.complain(fmt::format("register {} is declared twice", shown(name)));
    }
    ++sizes_.registers;
    entry_.registers.push_back({name, type});
  }

  void variables(Space space) {
    for (Variable& variable : parse_variables(reader_, space)) {
      if (variable.count == 0) reader_.complain(fmt::format("{} has no size", shown(variable.name)));
      count_variable(reader_, sizes_);
      for (const Variable& other : entry_.variables) {
        if (other.name == variable.name) reader_.complain(fmt::format("{} is declared twice", shown(variable.name)));
      }
      entry_.variables.push_back(std::move(variable));
    }
  }

  /// Of a sequence around a call. Those of scopes side by side are never needed together: one place for those of a name and kind.
  void call_parameters() {
    for (Variable& variable : parse_variables(reader_, Space::param)) {
      if (variable.count == 0) reader_.complain(fmt::format("{} has no size", shown(variable.name)));
      const std::string unique = fmt::format("{} {} at depth {}, {} bytes, align {}", variable.name, variable.type.bits,
                                             scopes_.size(), variable.bytes(), variable.align);
      if (!scopes_.back().parameters.emplace(variable.name, unique).second)
        reader_.complain(fmt::format("{} is declared twice", shown(variable.name)));
      variable.name = unique;
      if (!parameter_names_.insert(unique).second) continue;
      count_variable(reader_, sizes_);
      entry_.variables.push_back(std::move(variable));
    }
  }

  void place() {
    const int here = reader_.line();
    if (reader_.peek().kind == Token::Kind::number && reader_.peek(1).kind == Token::Kind::number &&
        reader_.peek(1).line == here) {
      file_ = static_cast<int>(reader_.expect_count("number of a source file", 0, 1 << 20));
      line_ = static_cast<int>(reader_.expect_count("line", 0, 1 << 30));
    }
    if (reader_.line() == here) reader_.skip_line();
  }

  void instruction() {
    Instruction made;
    made.line = reader_.line();
    made.source_file = file_;
    made.source_line = line_;
    if (reader_.accept("@")) {
      made.guard_negated = reader_.accept("!");
      const std::string_view name = reader_.expect_word("a predicate");
      made.guard = scopes_.find_register(name);
      if (made.guard < 0 || entry_.registers[static_cast<std::size_t>(made.guard)].type.kind != 'p') {
        reader_.complain(fmt::format("'{}' is no predicate", shown(name)));
      }
    }
    made.form = reader_.expect_word("an instruction");
    if (!reader_.accept(";")) {
      do {
        made.operands.push_back(operand(0));
      } while (reader_.accept(","));
      reader_.expect(";", fmt::format("behind {}", shown(made.form)));
    }
    if (++sizes_.instructions > kMaxInstructions)
      reader_.complain(fmt::format("more than {} instructions", kMaxInstructions));
    entry_.instructions.push_back(std::move(made));
  }

  Operand list(std::string_view end, std::size_t depth) {
    Operand made;
    made.kind = Operand::Kind::vector;
    if (reader_.accept(end)) return made;
    do {
      made.parts.push_back(operand(depth + 1));
    } while (reader_.accept(","));
    reader_.expect(end, "behind a list of operands");
    return made;
  }

  Operand operand(std::size_t depth) {
    if (depth > 4) reader_.complain("an operand nested too deeply");
    if (reader_.accept("{")) return list("}", depth);
    if (reader_.accept("(")) return list(")", depth);
    if (reader_.accept("[")) return address(depth);
    if (reader_.accept("!")) {
      Operand made = operand(depth + 1);
      if (made.kind != Operand::Kind::reg || made.negated) reader_.complain("'!' is for predicates");
      made.negated = true;
      return made;
    }
    if (reader_.peek().kind == Token::Kind::number || reader_.peek().is("-"))
      return reader_.expect_literal("an operand");
    Operand made = named();
    if (reader_.accept("|")) {
      Operand pair;
      pair.kind = Operand::Kind::pair;
      pair.parts.push_back(std::move(made));
      pair.parts.push_back(named());
      return pair;
    }
    return made;
  }

  /// A register, a special register, a label or a variable, the last with an offset or without.
  Operand named() {
    const std::string_view name = reader_.expect_word("an operand");
    Operand made;
    made.name = name;
    if (made.reg = scopes_.find_register(name); made.reg >= 0) {
      made.kind = Operand::Kind::reg;
    } else if (const std::string* label = scopes_.find_label(name)) {
      made.kind = Operand::Kind::label;
      made.name = *label;
    } else if (name.front() == '%') {
      made.kind = Operand::Kind::special;
    } else {
      made.kind = Operand::Kind::symbol;
      if (const std::string* parameter = scopes_.find_parameter(name)) made.name = *parameter;
      if (reader_.peek().is("+")) made.bits = offset();
    }
    return made;
  }

  std::uint64_t offset() {
    if (!reader_.accept("+")) return 0;
    const Operand literal = reader_.expect_literal("an offset");
    if (literal.kind != Operand::Kind::integer) reader_.complain("an offset is an integer");
    return literal.bits;
  }

  Operand address(std::size_t depth) {
    Operand made;
    if (reader_.peek().kind == Token::Kind::number || reader_.peek().is("-")) {
      made = reader_.expect_literal("an address");
      if (made.kind != Operand::Kind::integer) reader_.complain("an address is an integer");
    } else {
      made = operand(depth + 1);
      made.bits += offset();
    }
    if (made.kind != Operand::Kind::reg && made.kind != Operand::Kind::symbol && made.kind != Operand::Kind::integer) {
      reader_.complain("an address is a register, a variable or a number, with an offset or without");
    }
    while (reader_.accept(",")) made.parts.push_back(operand(depth + 1));  // of tensor copies
    made.kind = Operand::Kind::address;
    reader_.expect("]", "behind an address");
    return made;
  }

  TokenReader& reader_;
  Entry& entry_;
  FileSizes& sizes_;
  Scopes scopes_;
  std::set<std::string> parameter_names_;
  int scopes_made_ = 0;
  int file_ = 0, line_ = 0;
};

}  // namespace

void count_variable(TokenReader& reader, FileSizes& sizes) {
  if (++sizes.variables > kMaxVariables) reader.complain(fmt::format("more than {} variables", kMaxVariables));
}

void parse_body(TokenReader& reader, Entry& entry, FileSizes& sizes) { BodyParser(reader, entry, sizes).parse(); }

}  // namespace flashproof::ptx
