// One target process: its options, the archive it writes to, and what it does with an input.
//
//   --kernel=ID --format=F   the subject; without them an input's kernel byte chooses among the hardened ones
//   --exec=cpu|cuda          where it runs, default cpu
//   --guide=counters|edges|none   feedback, default counters
//   --archive=FILE           elites and findings go there, and fuzzing goes on; without it a finding aborts the process
//   --run=ID                 this process in the archive, default its pid and the time
//   --stop-on-finding        exit 1 after the first finding was written
// and instead of fuzzing, then exit:
//   --list                   "#tables HASH" (what inputs mean: codec.h), then subjects, one per line: kernel, form and
//                            format with tabs between
//   --climb=SECONDS ... DIR  local search from the subject's elites in the archive; new inputs into DIR
//     --climbing=FILE        holds the input at hand while it runs: no engine is there to keep it if it ends the process
//   --hunt=SECONDS ... DIR   no engine: random inputs and changed elites in batches of --batch=N (default 1024), few launches
//                            each, judged by --threads=N; starts with the inputs in DIR, and leaves better ones there
//     --suspects=FOLDER      gets the inputs of a launch that lost a GPU's context; the next hunt runs each of them alone.
//                            Needed with --exec=cuda
//     --seed=N               of the random inputs; default the time
//   --minimise=TRIES         findings of the subject that have no witness get one; a finding may take so many runs
//   --describe FILE          what an input stands for
//   --seeds FILE DIR         the case lines of FILE (fuzz/corpus) as inputs in DIR, and one input for every relating law
//
// Exit codes: 0; 1 a finding under --stop-on-finding; 2 an argument is wrong; 3 the machine failed; 75 the context of the GPU
// is lost: start again. SIGINT, SIGTERM and SIGUSR1 end it with 0 after the input at hand; everything found is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "fuzz/archive/archive.h"
#include "fuzz/score/feedback.h"
#include "fuzz/search/climb.h"
#include "fuzz/targets/target.h"

namespace flashproof {

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline constexpr std::uint64_t kMostFile = 64 << 20;  // bytes of an input or a list of cases
inline constexpr int kExitLost = 75;                  // sysexits.h's EX_TEMPFAIL

struct SessionOptions {
  std::string kernel, format;  // both or none
  Executor executor = Executor::cpu;
  Guide guide = Guide::counters;
  std::string archive, run;
  bool stop_on_finding = false;
  bool list = false;
  std::optional<double> climb;  // seconds
  std::optional<double> hunt;   // seconds
  int threads = 1, batch = 1024;
  std::optional<std::uint64_t> seed;
  std::string folder;  // of climb and hunt
  std::string climbing, suspects;
  std::optional<int> minimise;  // tries
  std::string describe;
  std::string seeds, seeds_folder;
};

/// FNV-1a.
std::uint64_t hash_of(std::span<const std::uint8_t> bytes);
/// Named by a hash of its bytes.
void write_input(const std::filesystem::path& folder, std::span<const std::uint8_t> bytes);

/// Takes the options above out of the arguments; the rest is the engine's. Throws UsageError.
SessionOptions take_options(int& argc, char** argv);

class Session {
 public:
  /// Throws UsageError for a subject that the target does not have, and what Archive throws.
  Session(const Target& target, SessionOptions options);

  /// One input: 0, or −1 where it stands for no case of the subject, so that the engine forgets it.
  int run(std::span<const std::uint8_t> bytes);
  // search.cc
  /// Searches from what the archive has; every better input is offered to it and written to the folder, named by its hash.
  void climb(double seconds, const std::string& folder);
  /// The same and random inputs, in batches.
  void hunt(double seconds, const std::string& folder);
  void minimise(int tries);
  void list() const;
  void describe_input(const std::string& file) const;
  /// Throws UsageError for a line that is no case of the target's, naming it.
  void write_seeds(const std::string& file, const std::string& folder);
  /// Writes what was found since the last time.
  void flush();
  const Run& totals() const { return run_; }

 private:
  struct Found {  // the result of one run, with the subject that it was of
    const TargetSubject* subject;
    Scored scored;
  };
  /// Empty where the input stands for no case of the subject.
  std::optional<Found> evaluate(const FuzzInput& input);
  const TargetSubject& subject_of(std::uint8_t kernel) const;
  Subject key_of(const TargetSubject& subject) const;
  std::optional<Found> climbing(const FuzzInput& input, std::span<const std::uint8_t> bytes);
  /// Of the subject's elites, run again.
  Climb from_elites(Random& random);
  void hunt_batch(const std::vector<FuzzInput>& inputs, Team& team, Climb& best, const std::string& folder);
  [[noreturn]] void leave_lost();
  void learn(const FuzzInput& input, const Found& found, Climb& best, const std::string& folder);
  void report_launch(const std::vector<FuzzInput>& inputs, const ScoredBatch& batch);
  void keep_launch(const std::vector<FuzzInput>& inputs, const ScoredBatch& batch, std::size_t of,
                   const std::string& what);
  void try_suspects(const std::string& folder);
  void ask_laws(Random& random);
  void say_finding(const Found& found) const;
  void keep(const Found& found, const FuzzInput& input, std::span<const std::uint8_t> bytes);
  void tick();

  Target target_;
  SessionOptions options_;
  std::vector<TargetSubject> subjects_;  // those that an input may choose among
  std::optional<Archive> archive_;
  Run run_;
  std::set<std::string> reported_;       // keys of findings that this process has written
  std::set<std::string> kept_launches_;  // kinds of failure whose launch it has written
  double started_ = 0, flushed_ = 0;     // seconds of the steady clock
};

}  // namespace flashproof
