// The options that several doors take, or a program of its own behind ./flashproof, declared once each: name, what a value may be, help, and
// which commands take it. flashproof-cli adds what it alone takes where it reads it (reports/cli/options). From these declarations
// follow what every door parses, refuses and says in its help, the Python package's too, the table of README.md, the completions and
// the man page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/legal_value.h"

namespace flashproof {

struct OptionDeclaration {
  std::string_view name;  // "--seed", or "TARGET" of a positional
  std::string_view type;  // what the help calls a value; empty: a flag, or a positional
  LegalValue legal;       // of a value
  std::string_view help;
  std::string_view commands;  // which take it, a space between two; "python": `python3 -m flashproof`, as check() does
  bool repeats = false;       // it may be given several times, each time with one value
  bool required = false;

  bool is_positional() const { return !name.starts_with('-'); }
  bool is_flag() const { return type.empty() && !is_positional(); }
};

std::span<const OptionDeclaration> option_table();
/// Of one command, in the order of its help.
std::vector<const OptionDeclaration*> options_of(std::string_view command);
/// Throws std::logic_error where the command does not take it.
const OptionDeclaration& declared_option(std::string_view command, std::string_view name);

}  // namespace flashproof
