// The subcommands. Each takes its parsed options, writes data to stdout and progress to stderr, and returns an exit
// code; UsageError and InfrastructureError are left to main().
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/system/error.h"
#include "reports/run/plan.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// What ./flashproof was told before the command. The launcher has done it; a command that calls a launcher again passes it on.
struct LauncherArguments {
  bool no_install = false, no_build = false, portable = false;

  std::vector<std::string> words() const;
};

/// What report, check and twin have in common.
struct SweepArguments {
  Filters filters;
  std::string executor = "cpu";  // cpu | cuda | all | ptx
  std::string math = "det";      // det | native | all
  std::string profile;           // for native math; empty: a shipped one (reports/run/native.h)
  bool quick = false, nightly = false, faults = false;
  bool verbose = false;  // the tables and every finding beside the block that ends a run
  std::uint64_t seed = 0;
  int jobs = 0;  // 0: one per core
  std::string out = "out";
  std::string ledger;                   // file; none there: no figures of it
  std::string with_faults, with_bench;  // files to put into the report; empty: none
  std::string command_line;             // without --jobs and --out, which change no result

  SweepTier tier() const { return quick ? SweepTier::quick : nightly ? SweepTier::nightly : SweepTier::standard; }
};

struct MergeArguments {
  std::vector<std::string> files;
  bool allow_partial = false, verbose = false;
  std::string out = "out";
};

struct ReplayArguments {
  std::string target;  // a path or a case line
  std::vector<std::string> kernels;
  std::string executor;  // empty: the witness's own, else cpu
  std::string math;      // empty: the witness's own, else det
  std::string profile;   // as in SweepArguments
  std::string schedule;  // empty: the witness's own, else fifo
};

struct ExplainArguments {
  std::string kernel;            // an id, or a glob that matches one
  std::string target;            // a path or a case line
  std::string element;           // o:ROW,COLUMN, lse:ROW, dq:ROW,COLUMN, ...; empty: the worst
  std::string executor = "cpu";  // cpu | cuda
  std::string math;              // det | native; empty: the witness's own, else det
  std::string profile;           // as in SweepArguments
};

struct AttackArguments {
  std::vector<std::string> kernels, formats;  // globs
  double seconds = 60;                        // of the whole search
  int jobs = 0;                               // 0: one per core
  std::uint64_t seed = 0;
  std::string ledger;  // file
  bool update = false;
  std::string reason;
  std::string out = "out";     // for witnesses of violations
  std::string export_to;       // directory for the ledger's cases as witnesses; empty: none
  std::uint64_t validate = 0;  // cases per cell instead of a search
};

struct TruthArguments {
  std::string target;  // a path or a case line
  std::string out_file;
  std::string ulp = "f32";
  int threads = 0;  // 0: one per core
  std::int64_t memory_gib = 8;
};

struct LedgerArguments {
  std::vector<std::string> files;    // reports and ledgers of attack
  std::string ledger, architecture;  // the file; sm_NN of the reports' records of a GPU
  bool update = false;
  std::string reason;
};

struct RenderArguments {
  std::string report;
  std::string page;  // empty: the report's own name with .html, unless the JSON alone is asked for
  std::string json;  // spelled out; empty: not written
};

struct ExportArguments {
  std::string target;            // a path or a case line
  std::string kernel;            // an id, or a glob that matches one; empty: the witness's own, else none
  std::string out;               // directory
  std::string python = "numpy";  // numpy | torch
  std::string executor, math, profile, schedule;  // as in ReplayArguments
};

struct ExperimentArguments {
  std::vector<std::string> names;  // empty: all
  std::uint64_t seed = 0;
};

struct TrafficArguments {
  std::vector<std::string> kernels;  // globs
  std::string format = "f32";
  std::int64_t rows = 16, cols = 2048;
  std::string measured;  // CSV of traffic_gpu.sh; empty: none
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

struct CompareArguments {
  std::string base, head;  // report.json, kernel ids or git revisions
  SweepArguments sweep;    // of two kernels
  std::vector<std::string>
      sweep_options;      // those of them that were given, with their values: report's words for two revisions
  std::string case_text;  // of two kernels: one case; empty: the families
  int rounds = 0;         // of timing: of two kernels or two revisions
  std::string benchmark_filter = ".";                    // of two revisions
  std::vector<std::string> bench;                        // BASE HEAD BASE HEAD ...
  bool partial = false, verbose = false, check = false;  // check: of the files beside BASE and HEAD only
  std::string gate, waivers, today, markdown, json;
  LauncherArguments launcher;
};

struct TestArguments {
  bool nightly = false, check = false;  // check: the arguments, before a long build
};

struct BenchArguments {
  std::string executor = "cpu";      // cpu | cuda
  std::string out;                   // file; empty: none
  std::vector<std::string> compare;  // BASE.json [HEAD.json]
  std::vector<std::string> options;  // --benchmark_...
  bool check = false;                // the arguments, before a long build
};

/// What is wrong with a file, behind the option that names it.
template <class Read>
auto option_file(std::string_view option, Read read) {
  try {
    return read();
  } catch (const UsageError& e) {
    throw UsageError(std::string(option) + " " + e.what());
  }
}

int report_command(const SweepArguments& arguments);
int test_command(const TestArguments& arguments);
int bench_command(const BenchArguments& arguments);
int compare_command(const CompareArguments& arguments);
int faults_command(const SweepArguments& arguments);
int merge_command(const MergeArguments& arguments);
int check_command(const SweepArguments& arguments);
int twin_command(const SweepArguments& arguments, const std::string& out_file);
int list_command(const std::string& what, bool json);
int truth_command(const TruthArguments& arguments);
int replay_command(const ReplayArguments& arguments);
int ledger_command(const LedgerArguments& arguments);
int export_command(const ExportArguments& arguments);
int explain_command(const ExplainArguments& arguments);
int attack_command(const AttackArguments& arguments);
int certify_command(const CertifyArguments& arguments);
int experiment_command(const ExperimentArguments& arguments);
int traffic_command(const TrafficArguments& arguments);
int probe_command(const std::string& out_file);
int render_command(const RenderArguments& arguments);

// Shared pieces.

/// The notes of a witness, by name.
using Notes = std::map<std::string, std::string>;

/// The kernel that a witness notes where this build has none of that name: a library's (kernels/plugin.h) or a callable's. Else empty.
std::string foreign_kernel(const Notes& notes);
struct ElementIndex {
  std::string executor, math;
};
/// Where replay and explain run a case: what the options say, else the witness's notes, else the CPU and det. Throws what
/// check_math throws.
ElementIndex place_of(const std::string& executor, const std::string& math, const std::string& profile,
                      const Notes& notes);

/// The executors that `--exec` names and that this machine has; empty: cuda was asked for and there is no GPU, or ptx and there is no nvcc
/// or no libLLVM (said on stderr). `all` without a GPU is the CPU, also said. Throws UsageError for another word.
std::vector<Executor> executors_for(const std::string& option);
/// Of a plan that runs PTX every kernel's, before the first run.
void compile_ptx(const Plan& plan, int jobs);
int jobs_for(int option);
/// Throws UsageError if the truth of the problem would need more memory than the oracle may take: before any work, and as what
/// it is, the file's fault and not the machine's.
void require_truth_memory(const Problem& problem);
/// Of the terminal on stdout, 80..200; 150 elsewhere.
int terminal_columns();
/// The exit code of a sweep, after its results were written: 1 for a finding; else, for a run that was interrupted, 3. A
/// run that the machine ended is always 3. Says what happened on stderr.
/// `undecided`: nothing failed, but too little was decided to call it a pass.
int closing_code(bool partial, const std::string& failure, bool finding, bool undecided = false);
/// "flashproof: <text>" on stderr, on one line.
void say(const std::string& text);

}  // namespace flashproof
