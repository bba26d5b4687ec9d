// Options that several commands have, each declared here once; those that other programs have, too, in reference/system/option_rows.cc.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "reference/system/add_option.h"
#include "reports/cli/options/options.h"

namespace flashproof {

inline constexpr const char* kCaseHelp = "a .safetensors witness or problem:family:seed[:key=value,...]";

/// A command of the app: `summary` is its line in the help, `more` what a reader of the table of commands wants to know besides,
/// `exits` when it ends with another code than 0, 2 (wrong arguments or files) and 3 (a broken machine).
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& more,
                      const std::string& exits);

CLI::Option* add_positional(CLI::App* app, const std::string& name, std::string& to, const std::string& help);
void add_memory(CLI::App* app, std::int64_t& gib);
void add_schedule(CLI::App* app, std::string& schedule);
void add_profile(CLI::App* app, std::string& profile);
/// The repository's, in the checkout that this was built from.
std::string default_ledger();
void add_verbose(CLI::App* app, bool& verbose);
// As the table has them for the app's command.
void add_executor(CLI::App* app, std::string& executor);
void add_math(CLI::App* app, std::string& math);
void add_math(CLI::App* app, std::string& math, std::string& profile);
/// --family, --format, --quick, --nightly, --seed, --jobs; `which` sets what they are about in front of each help.
void add_filters(CLI::App* app, SweepArguments& sweep, const std::string& which = "");

}  // namespace flashproof
