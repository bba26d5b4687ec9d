// Variables and parameters: ".align 16 .b8 name[4][128] = {...}".
#include <fmt/format.h>

#include <bit>

#include "kernels/ptx/parse/body_parser.h"

namespace flashproof::ptx {
namespace {

/// Type and alignment in front of the names.
Variable attributes(TokenReader& reader, Space space) {
  Variable variable;
  variable.space = space;
  variable.line = reader.line();
  std::int64_t align = 0;
  bool has_type = false;
  while (reader.peek().kind == Token::Kind::word && reader.peek().text.front() == '.') {
    const std::string_view word = reader.take().text;
    if (word == ".align") {
      const std::int64_t given = reader.expect_count("alignment", 1, 4096);
      if (!std::has_single_bit(static_cast<std::uint64_t>(given))) reader.complain("an alignment is a power of two");
      if (!variable.pointer) align = given;  // behind .ptr: of what it points to
    } else if (word == ".ptr") {
      variable.pointer = true;
    } else if (word ==
               ".attribute") {  // .managed: here the host sees every variable; .unified is an address for linkers
      reader.skip_over(")");
    } else if (const auto type = type_of(word.substr(1)); type && type->kind != 'p') {
      variable.type = *type;
      has_type = true;
    } else if (!variable.pointer || (word != ".global" && word != ".shared" && word != ".local" && word != ".const")) {
      reader.complain(fmt::format("'{}' in a declaration is not known here", shown(word)));
    }
  }
  if (!has_type) reader.complain("a declaration without a type");
  variable.align = align != 0 ? align : variable.type.bytes();
  return variable;
}

void dimensions(TokenReader& reader, Variable& variable) {
  bool open = false;
  while (reader.accept("[")) {
    if (reader.accept("]")) {
      if (open) reader.complain("only the first dimension may be left open");
      open = true;
      continue;
    }
    const std::int64_t extent = reader.expect_count("elements", 0, kMaxVariableBytes);
    reader.expect("]", "behind the number of elements");
    variable.count *= extent;
    if (variable.count > kMaxVariableBytes) {
      reader.complain(fmt::format("{}: more than {} elements", shown(variable.name), kMaxVariableBytes));
    }
  }
  if (open) variable.count = 0;
}

void values(TokenReader& reader, Variable& variable, int depth) {
  if (depth > 8) reader.complain("an initial value nested too deeply");
  do {
    if (reader.accept("{")) {
      values(reader, variable, depth + 1);
      reader.expect("}", "behind initial values");
      continue;
    }
    if (reader.peek().kind == Token::Kind::word) {
      reader.complain(fmt::format("{}: an address as initial value is not supported here", shown(variable.name)));
    }
    const std::uint64_t bits = bits_of(reader.expect_literal("an initial value"), variable.type);
    for (std::int64_t i = 0; i < variable.type.bytes(); ++i) {
      variable.initial.push_back(i < 8 ? static_cast<std::byte>(bits >> (8 * i)) : std::byte{0});
    }
  } while (reader.accept(","));
}

}  // namespace

std::int64_t align_up(std::int64_t value, std::int64_t align) { return (value + align - 1) / align * align; }

std::vector<Variable> parse_variables(TokenReader& reader, Space space) {
  const Variable common = attributes(reader, space);
  std::vector<Variable> list;
  do {
    Variable variable = common;
    variable.name = reader.expect_word("the name of a variable");
    dimensions(reader, variable);
    if (reader.accept("=")) {
      values(reader, variable, 0);
      if (variable.count == 0)
        variable.count = static_cast<std::int64_t>(variable.initial.size()) / variable.type.bytes();
      if (static_cast<std::int64_t>(variable.initial.size()) > variable.bytes()) {
        reader.complain(fmt::format("{}: more initial values than elements", shown(variable.name)));
      }
    }
    list.push_back(std::move(variable));
  } while (reader.accept(","));
  reader.expect(";", "behind a declaration");
  return list;
}

std::int64_t parse_parameters(TokenReader& reader, std::vector<Variable>& parameters) {
  std::int64_t bytes = 0;
  if (reader.accept(")")) return bytes;
  do {
    if (!reader.accept(".param") && !reader.accept(".reg"))
      reader.complain("'.param' expected in a list of parameters");
    Variable parameter = attributes(reader, Space::param);
    parameter.name = reader.expect_word("the name of a parameter");
    dimensions(reader, parameter);
    bytes = align_up(bytes, parameter.align);
    parameter.offset = bytes;
    bytes += parameter.bytes();
    if (bytes > kMaxParameterBytes)
      reader.complain(fmt::format("more than {} bytes of parameters", kMaxParameterBytes));
    parameters.push_back(std::move(parameter));
  } while (reader.accept(","));
  reader.expect(")", "behind the parameters");
  return bytes;
}

}  // namespace flashproof::ptx
