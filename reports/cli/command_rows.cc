#include "reports/cli/command_rows.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

#include "reports/cli/help.h"

namespace flashproof {
namespace {

constexpr std::string_view kExits = "Exit codes: ";

/// "cpu|cuda" of what is one of these, else the type without its range.
std::string type_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  const std::size_t colon = type.find(':'), brace = type.find(":{");
  if (brace == std::string::npos) return type.substr(0, colon);
  std::string words = type.substr(brace + 2, type.find('}', brace) - brace - 2);
  std::ranges::replace(words, ',', '|');
  return words;
}

OptionRow row_of(const CLI::Option* option) {
  OptionRow row;
  row.positional = option->get_positional();
  row.name = row.positional ? option->get_single_name() : "--" + option->get_lnames().front();
  if (!option->get_snames().empty()) row.short_name = "-" + option->get_snames().front();
  if (!row.positional && option->get_expected_max() > 0) row.type = type_of(option);
  if (row.type.find('|') != std::string::npos) {
    std::istringstream words(row.type);
    for (std::string word; std::getline(words, word, '|');) row.values.push_back(word);
  }
  row.help = option->get_description();
  row.required = option->get_required();
  row.repeats = row.positional ? option->get_expected_max() > 1
                               : option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return row;
}

std::vector<OptionRow> rows_of(const CLI::App& app) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : app.get_options()) rows.push_back(row_of(option));
  return rows;
}

}  // namespace

std::vector<CommandRow> command_rows(const CLI::App& app) {
  std::vector<CommandRow> rows;
  for (const CLI::App* command : commands_in_order(app)) {
    CommandRow row;
    row.name = command->get_name();
    row.summary = command->get_description();
    if (const std::size_t end = row.summary.find('\n'); end != std::string::npos) {
      row.more = row.summary.substr(end + 1);
      row.summary.resize(end);
    }
    const std::string footer = command->get_footer();
    if (footer.starts_with(kExits)) row.exits = footer.substr(kExits.size());
    row.options = rows_of(*command);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OptionRow> launcher_options(const CLI::App& app) { return rows_of(app); }

std::string synopsis(const OptionRow& option) {
  std::string text = option.name;
  if (!option.type.empty()) text += " " + option.type;
  if (option.positional && option.repeats) text += " …";
  return option.required ? text : "[" + text + "]";
}

}  // namespace flashproof
