// A command line by CLI11, as every program of ours reads one.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {

/// An empty value is no name of a file, a kernel or anything else, and must not read as an option that is absent: where a shell's
/// variable is not set, --gate "$POLICY" would be no gate.
inline void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_min() == 0) continue;  // of an option that needs no value, "" is that there is none
    for (const std::string& value : option->results()) {
      if (value.empty()) throw UsageError(option->get_name() + ": empty, legal: a value");
    }
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_empty_values(*command);
}

/// The first word is a command, where the program has any. Throws UsageError.
inline void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  if (app.get_require_subcommand_min() == 0) return;
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) return;
    const std::string near = did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end()));
    throw UsageError("unknown command " + quote(word) +
                     (near.empty() ? "; there are: " + CLI::detail::join(names, ", ") : near));
  }
}

/// Of what the command line holds and no option takes, the first option. Throws UsageError; returns where there is none.
inline void refuse_unknown_option(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) refuse_unknown_option(*command);
  std::vector<std::string_view> names;  // without the dashes, which every two have in common
  for (const CLI::Option* option : app.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  for (const std::string& word : app.remaining()) {
    const std::string option = word.substr(0, word.find('='));
    if (!option.starts_with("--")) continue;
    const std::vector<std::string_view> near = near_matches(std::string_view(option).substr(2), names);
    throw UsageError("unknown option " + quote(option) +
                     (near.empty() ? "" : " (did you mean --" + std::string(near.front()) + "?)") +
                     "; --help lists them");
  }
}

/// Whether there is something to run: not where --help was asked for, and shown. Throws UsageError.
inline bool parse_arguments(CLI::App& app, int argc, char** argv) {
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);
      return false;
    }
    refuse_unknown_option(app);  // the cause of what else is wrong: of an --out that is missing, where --ot is there
    throw UsageError(std::string(e.what()) + " (see --help)");
  }
  refuse_empty_values(app);
  return true;
}

}  // namespace flashproof
