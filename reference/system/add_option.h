// Options for a parser of CLI11 (parse_arguments.h), their values held against what is legal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/legal_value.h"
#include "reference/system/option_table.h"

namespace flashproof {

/// As the help shows it: "N:1..4096", "EXEC:{cpu,cuda}", "GLOB".
inline std::string shown_type(const std::string& type, const LegalValue& legal) {
  if (legal.kind == LegalValue::Kind::text) return type;
  if (legal.kind != LegalValue::Kind::words) return type + ":" + legal.range();
  return type + ":{" + CLI::detail::join(legal.words, ",") + "}";
}

template <class Value>
void set_legal(const std::string& name, const LegalValue& legal, const std::string& text, Value& to) {
  try {
    if constexpr (std::is_floating_point_v<Value>) {
      to = static_cast<Value>(legal.real(name, text));
    } else if constexpr (std::is_integral_v<Value>) {
      to = static_cast<Value>(legal.whole(name, text));
    } else {
      if (legal.kind == LegalValue::Kind::words) legal.require_word(name, text);
      to = text;
    }
  } catch (const UsageError& e) {
    throw CLI::ValidationError(e.what());
  }
}

/// CLI11's own numbers take "-1", "0x10" and NaN, and its complaints are not ours.
template <class Value>
CLI::Option* add_legal(CLI::App* app, const std::string& name, Value& to, const std::string& type,
                       const LegalValue& legal, const std::string& help) {
  const auto set = [name, legal, &to](const std::string& text) { set_legal(name, legal, text, to); };
  return app->add_option_function<std::string>(name, set, help)->type_name(shown_type(type, legal));
}

/// An option of the table. `before` the help: what it is about, where a command says more.
template <class Value>
CLI::Option* add_declared(CLI::App* app, std::string_view command, std::string_view name, Value& to,
                          const std::string& before = "") {
  const OptionDeclaration& option = declared_option(command, name);
  const std::string help = before + std::string(option.help), type(option.type);
  CLI::Option* added = nullptr;
  if constexpr (std::is_same_v<Value, bool>) {
    added = app->add_flag(std::string(name), to, help);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    added = app->add_option(std::string(name), to, help)->type_name(type);
    if (!option.is_positional())
      added->type_size(1)->expected(1)->take_all();  // so that it never swallows a positional
  } else {
    added = add_legal(app, std::string(name), to, type, option.legal, help);
  }
  return added->required(option.required);
}

/// What another program takes, for the help of this one.
inline void add_foreign_options(CLI::App* app, std::string_view command) {
  for (const OptionDeclaration* option : options_of(command)) {
    const std::string name(option->name), help(option->help);
    CLI::Option* added = option->is_flag() ? app->add_flag(name, help)
                                           : app->add_option_function<std::string>(
                                                    name, [](const std::string&) {}, help)
                                                 ->type_name(shown_type(std::string(option->type), option->legal));
    if (option->repeats) added->take_all();
    added->required(option->required);
  }
}

}  // namespace flashproof
