// A command line by CLI11, as every program of ours reads one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "reference/system/error.h"

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

/// Whether there is something to run: not where --help was asked for, and shown. Throws UsageError.
inline bool parse_arguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw UsageError(std::string(e.what()) + " (see --help)");
    app.exit(e);
    return false;
  }
  refuse_empty_values(app);
  return true;
}

}  // namespace flashproof
