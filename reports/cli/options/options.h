// Every subcommand with its options, and which of them a command line chose.
#pragma once

#include <functional>
#include <string>

#include "reports/cli/commands/commands.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

struct Options {
  SweepArguments sweep;
  LauncherArguments launcher;
  TestArguments test;
  BenchArguments bench;
  CompareArguments compare;
  MergeArguments merge;
  ReplayArguments replay;
  ExplainArguments explain;
  AttackArguments attack;
  ExperimentArguments experiment;
  TruthArguments truth;
  ExportArguments reproduction;
  LedgerArguments worst;
  RenderArguments render;
  CertifyArguments certify;
  TrafficArguments traffic;
  std::string what, file, shell;
  bool json = false;
};

/// What the command line chose; returns the exit code.
using Command = std::function<int()>;

// A file each.
void add_launched_commands(CLI::App& app, Options& options, Command& command);
void add_run_commands(CLI::App& app, Options& options, Command& command);
void add_report_commands(CLI::App& app, Options& options, Command& command);
void add_search_commands(CLI::App& app, Options& options, Command& command);

/// Parsing fills `options` and sets `command`; both must outlive `app`.
inline void add_commands(CLI::App& app, Options& options, Command& command) {
  add_launched_commands(app, options, command);
  add_run_commands(app, options, command);
  add_report_commands(app, options, command);
  add_search_commands(app, options, command);
}

}  // namespace flashproof
