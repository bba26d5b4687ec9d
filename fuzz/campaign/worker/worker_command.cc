#include "fuzz/campaign/worker/worker_command.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/worker/crashes.h"
#include "reference/system/run_command.h"

namespace flashproof {
namespace {

/// Per finding: enough for a case of a few hundred numbers. After kMinimiseSeconds the process is asked to stop, and keeps
/// the smallest case that it has.
constexpr int kMinimiseTries = 2000;
/// A witness may ask for 1 GiB of storage, and AddressSanitizer keeps what was freed.
constexpr int kMostMegabytes = 6144, kMostMegabytesAtOnce = 1100;

Command subject_command(const std::filesystem::path& program, const Subject& subject) {
  Command command{program.string()};
  if (!subject.kernel.empty()) command.push_back("--kernel=" + subject.kernel);
  if (!subject.format.empty()) command.push_back("--format=" + subject.format);
  command.push_back("--exec=" + subject.executor);
  return command;
}

}  // namespace

Command worker_command(const WorkerPlan& plan, const Job& job) {
  Command command = subject_command(plan.program, plan.subject);
  for (const auto& argument : {"--archive=" + plan.archive.string(), "--run=" + plan.run_id, "--guide=" + plan.guide}) {
    command.push_back(argument);
  }
  if (plan.stop_on_finding) command.emplace_back("--stop-on-finding");
  switch (job.kind) {
    case Job::Kind::minimise:
      command.push_back(fmt::format("--minimise={}", kMinimiseTries));
      return command;
    case Job::Kind::climb:
      command.push_back(fmt::format("--climb={:.0f}", std::ceil(job.seconds)));
      command.push_back("--climbing=" + climbing_file(plan.artifact_prefix).string());
      break;
    case Job::Kind::fuzz:
      if (plan.subject.executor == "cuda") {  // batches instead of the engine, and the local search is in them
        command.push_back(fmt::format("--hunt={:.0f}", std::ceil(job.seconds)));
        command.push_back(fmt::format("--threads={}", plan.threads));
        command.push_back("--suspects=" + plan.suspects.string());
        command.push_back(fmt::format("--seed={}", plan.seed));
        break;
      }
      command.push_back(fmt::format("-rss_limit_mb={}", kMostMegabytes));
      command.push_back(fmt::format("-malloc_limit_mb={}", kMostMegabytesAtOnce));
      // The driver ends the phase; this is for a worker that does not hear it.
      command.push_back(fmt::format("-max_total_time={:.0f}", std::ceil(job.seconds) + 1));
      command.push_back(fmt::format("-max_len={}", longest_input(plan.subject.target)));
      command.push_back(fmt::format("-timeout={}", kInputSeconds));
      command.push_back(fmt::format("-seed={}", plan.seed));
      command.push_back("-artifact_prefix=" + plan.artifact_prefix.string());
      command.emplace_back("-verbosity=0");
      command.emplace_back("-print_final_stats=1");
      break;
  }
  command.push_back(plan.corpus.string());
  return command;
}

Command list_command(const std::filesystem::path& program, const std::string& executor) {
  return {program.string(), "--exec=" + executor, "--list"};
}

Command describe_command(const std::filesystem::path& program, const Subject& subject,
                         const std::filesystem::path& file) {
  Command command = subject_command(program, subject);
  command.emplace_back("--describe");
  command.push_back(file.string());
  return command;
}

Command seeds_command(const std::filesystem::path& program, const Subject& subject, const std::filesystem::path& file,
                      const std::filesystem::path& folder) {
  Command command = subject_command(program, subject);
  for (const auto& word : {std::string("--seeds"), file.string(), folder.string()}) command.push_back(word);
  return command;
}

void set_worker_environment() {
  const auto add = [](const char* name, const std::string& options) {
    const char* old = std::getenv(name);
    // Of an option given twice the last counts.
    ::setenv(name, (old == nullptr || *old == '\0' ? options : std::string(old) + ":" + options).c_str(), 1);
  };
  add("ASAN_OPTIONS", "exitcode=77:protect_shadow_gap=0");
  add("UBSAN_OPTIONS", "exitcode=77:print_stacktrace=1");
  add("LSAN_OPTIONS", "exitcode=77");
  // A report names functions only with this program, which Debian calls by its version.
  const CommandLine find{.words = {"sh", "-c", "command -v llvm-symbolizer-19"}};
  if (const auto symbolizer = output_of(find)) ::setenv("ASAN_SYMBOLIZER_PATH", symbolizer->c_str(), 0);
}

}  // namespace flashproof
