// The subcommands. Each takes its parsed options, writes data to stdout and progress to stderr, and returns an exit
// code; UsageError and InfrastructureError are left to main().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/plan.h"

namespace flashproof {

/// What report, check and twin have in common.
struct SweepArguments {
  Filters filters;
  std::string executor = "cpu";  // cpu | cuda | all
  bool quick = false, nightly = false;
  std::uint64_t seed = 0;
  int jobs = 0;  // 0: one per core
  std::string out = "out";
  std::string command_line;

  SweepTier tier() const { return quick ? SweepTier::quick : nightly ? SweepTier::nightly : SweepTier::standard; }
};

struct ReplayArguments {
  std::string target;  // a path or a case line
  std::vector<std::string> kernels;
  std::string executor;  // empty: the witness's own, else cpu
  std::string schedule;  // empty: the witness's own, else fifo
};

struct TruthArguments {
  std::string target;  // a path or a case line
  std::string out_file;
  std::string ulp = "f32";
  int threads = 0;  // 0: one per core
  std::int64_t memory_gib = 8;
};

struct CertifyArguments {
  std::int64_t heads = 8, kv_heads = 0, length = 8192, dim = 128;  // kv_heads 0: as many as heads
  std::vector<std::string> formats;                                // empty: f16, bf16, f32
  bool causal = false;
  std::uint64_t seed = 0;
  std::string executor = "auto";  // cpu | cuda | auto
  std::int64_t rows = 256;        // of every head, on the CPU
  std::int64_t sample = 64;       // rows that the CPU recomputes for the GPU
  std::int64_t memory_gib = 8;
  std::string cublas;  // library to measure dgemm with; empty: the usual names
};

int report_command(const SweepArguments& arguments);
int check_command(const SweepArguments& arguments);
int twin_command(const SweepArguments& arguments, const std::string& out_file);
int list_command(const std::string& what, bool json);
int truth_command(const TruthArguments& arguments);
int replay_command(const ReplayArguments& arguments);
int certify_command(const CertifyArguments& arguments);

// Shared pieces.

/// The executors that `--exec` names and that this machine has; empty: cuda was asked for and there is no GPU (said on
/// stderr). `all` without a GPU is the CPU, also said. Throws UsageError for another word.
std::vector<Executor> executors_for(const std::string& option);
int jobs_for(int option);
/// The exit code of a sweep, after its results were written: 1 for a finding; else, for a run that was interrupted, 3. A
/// run that the machine ended is always 3. Says what happened on stderr.
int closing_code(bool partial, const std::string& failure, bool finding);
/// "flashproof: <text>" on stderr, on one line.
void say(const std::string& text);

}  // namespace flashproof
