#include "reference/system/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "reference/system/option_rows.h"

namespace flashproof {
namespace {

bool takes(const OptionDeclaration& option, std::string_view command) {
  std::string_view rest = option.commands;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == command) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::span<const OptionDeclaration> option_table() {
  static const std::vector<OptionDeclaration> kTable = option_rows();
  return kTable;
}

std::vector<const OptionDeclaration*> options_of(std::string_view command) {
  std::vector<const OptionDeclaration*> options;
  for (const OptionDeclaration& option : option_table()) {
    if (takes(option, command)) options.push_back(&option);
  }
  return options;
}

const OptionDeclaration& declared_option(std::string_view command, std::string_view name) {
  for (const OptionDeclaration& option : option_table()) {
    if (option.name == name && takes(option, command)) return option;
  }
  throw std::logic_error(fmt::format("option table: {} has no {}", command, name));
}

}  // namespace flashproof
