// How a worker ended, and what of that is a finding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace flashproof {

enum class Ending : std::uint8_t {
  done,            // it finished, or stopped because we asked
  finding,         // exit 1: a finding under --stop-on-finding
  usage,           // exit 2: it does not take these arguments
  infrastructure,  // exit 3: disk, driver, …
  restart,         // exit 75: the GPU's context is lost, or it was killed from outside: start it again
  crash,           // a signal, or the engine's report of one
  sanitizer,       // a sanitizer's report
  hang,            // exit 70: an input took too long; or it did not end in time
  memory,          // exit 71: an input took too much memory
  odd,             // any other exit code
};

/// crash, sanitizer, hang, memory.
bool is_death(Ending ending);
/// "crash", ...: `what` of the finding.
std::string_view name(Ending ending);

/// What a worker's stderr says about its end.
struct CrashReport {
  std::string line;    // the first line that reports an error, printable; empty if there is none
  std::string stable;  // of the summary what is the same on every machine and run: no addresses, pids, folders
  bool sanitizer = false;
};
CrashReport read_report(std::string_view log);

/// `asked`: we sent it SIGTERM or SIGKILL, so those say nothing.
Ending classify(int status, bool asked, const CrashReport& report);

/// The stable part of a crash, which distinguishes it from others of its kind: Finding::term. The report's, else the signal's
/// name ("SEGV").
std::string crash_key(int status, const CrashReport& report);

/// The end of a file, at most `limit` bytes; empty if there is none.
std::string tail_of(const std::filesystem::path& file, std::size_t limit);

/// Where the local search, which has no engine around it, keeps the input that it is trying.
std::filesystem::path climbing_file(const std::filesystem::path& prefix);
/// Removes those that a killed driver left in this folder.
void remove_climbing_files(const std::filesystem::path& folder);

/// What was left behind `prefix` (folder and beginning of the name): by the engine crash-, leak-, timeout- or oom- and a
/// digest, or else the climbing_file(). Empty if nothing.
std::filesystem::path artifact_of(const std::filesystem::path& prefix);

}  // namespace flashproof
