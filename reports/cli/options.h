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
  CertifyArguments certify;
  TrafficArguments traffic;
  std::string what, file;
  bool json = false;
};

/// Parsing fills `options` and sets `command`; both must outlive `app`.
void add_commands(CLI::App& app, Options& options, std::function<int()>& command);

/// A part of it: what works on the checkout (launched_options.cc).
void add_launched_commands(CLI::App& app, Options& options, std::function<int()>& command);

}  // namespace flashproof
