// Options that several commands have, each declared here once.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "reports/cli/options/options.h"

namespace flashproof {

inline constexpr const char* kCaseHelp = "a .safetensors witness or problem:family:seed[:key=value,...]";

/// A command of the app: `summary` is its line in the help, `more` what a reader of the table of commands wants to know besides,
/// `exits` when it ends with another code than 0, 2 (wrong arguments or files) and 3 (a broken machine).
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& more,
                      const std::string& exits);

/// An option that may be given several times, each time with one value, so that it never swallows a positional.
CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help);
CLI::Option* add_positional(CLI::App* app, const std::string& name, std::string& to, const std::string& help);
CLI::Option* add_one_of(CLI::App* app, const std::string& flag, std::string& to, std::vector<std::string> legal,
                        const std::string& type, const std::string& help);
void add_seed(CLI::App* app, std::uint64_t& seed, const std::string& help);
void add_jobs(CLI::App* app, int& jobs, const std::string& help);
void add_memory(CLI::App* app, std::int64_t& gib);
void add_schedule(CLI::App* app, std::string& schedule);
void add_profile(CLI::App* app, std::string& profile);
/// The repository's, in the checkout that this was built from.
std::string default_ledger();
void add_verbose(CLI::App* app, bool& verbose);
/// cpu, cuda or all.
void add_executors(CLI::App* app, std::string& executor);
/// det, native or all.
void add_math(CLI::App* app, std::string& math);
void add_math(CLI::App* app, std::string& math, std::string& profile);
/// One of cpu and cuda, one of det and native: of a single run.
void add_one_run(CLI::App* app, std::string& executor, std::string& math, std::string& profile,
                 const std::string& help);
/// --family, --format, --quick, --nightly, --seed, --jobs; `which` sets what they are about in front of each help.
void add_filters(CLI::App* app, SweepArguments& sweep, const std::string& which = "");

}  // namespace flashproof
