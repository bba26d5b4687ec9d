#include "fuzz/campaign/worker/crashes.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <regex>
#include <vector>

#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 300, kLongestKey = 120;
constexpr const char* kClimbing = "climbing";

/// The function that a signal hit: the first frame of the engine's stack that is neither its own nor the C library's.
/// "" without symbols.
std::string crash_site(std::string_view line) {
  const std::size_t number = line.find_first_not_of(' ');
  const std::size_t in = line.find(" in ");
  if (number == std::string_view::npos || line[number] != '#' || in == std::string_view::npos) return "";
  for (const char* foreign :
       {"__sanitizer", "fuzzer::", "Fuzzer", "compiler-rt", "libc.so", "libc-start", "abort", "raise", "pthread_kill",
        "__gnu_cxx::", "std::terminate", "__cxa_", "__assert", "libstdc++", "unexpected"}) {
    if (line.find(foreign) != std::string_view::npos) return "";
  }
  const std::string_view site = line.substr(in + 4);
  return std::string(site.substr(0, site.find_first_of(" (")));
}

std::string without_places(std::string_view text) {
  static const std::regex folders("[^ ()]*/"), build(" *\\(BuildId: [0-9a-f]*\\)"), address("0x[0-9a-f]{6,}");
  std::string result(text);
  result = std::regex_replace(result, folders, "");
  result = std::regex_replace(result, build, "");
  result = std::regex_replace(result, address, "0x");
  return printable(result, kLongestKey);
}

}  // namespace

bool is_death(Ending ending) {
  return ending == Ending::crash || ending == Ending::sanitizer || ending == Ending::hang || ending == Ending::memory;
}

std::string_view name(Ending ending) {
  constexpr std::string_view kNames[] = {"done",  "finding",   "usage", "infrastructure", "restart",
                                         "crash", "sanitizer", "hang",  "memory",         "odd"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Ending::odd) + 1);
  return kNames[static_cast<std::size_t>(ending)];
}

CrashReport read_report(std::string_view log) {
  CrashReport report;
  std::string summary, site;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n')).substr(0, 4096);
    log.remove_prefix(std::min(log.size(), log.find('\n') == std::string_view::npos ? log.size() : log.find('\n') + 1));
    const bool error =
        line.find("ERROR: ") != std::string_view::npos || line.find("runtime error: ") != std::string_view::npos;
    if (error && report.line.empty()) report.line = printable(line, kLongestLine);
    const std::size_t at = line.find("SUMMARY: ");
    if (at != std::string_view::npos && summary.empty()) summary = line.substr(at + 9);
    if (site.empty() && !report.line.empty()) site = crash_site(line);
    report.sanitizer = report.sanitizer || ((error || at != std::string_view::npos) &&
                                            (line.find("Sanitizer: ") != std::string_view::npos ||
                                             line.find("runtime error: ") != std::string_view::npos));
  }
  if (report.line.empty()) report.line = printable(summary, kLongestLine);
  if (summary.empty()) {  // "==123== ERROR: libFuzzer: deadly signal"
    const std::size_t at = report.line.find("ERROR: ");
    summary = at == std::string::npos ? report.line : report.line.substr(at + 7);
  }
  // The engine's summary of a signal says no more than that; a sanitizer's says where.
  if (summary.starts_with("libFuzzer: ")) summary = summary.substr(11) + (site.empty() ? "" : " in " + site);
  report.stable = without_places(summary);
  return report;
}

Ending classify(int status, bool asked, const CrashReport& report) {
  constexpr int kEngineCrash = 77, kEngineTimeout = 70, kEngineMemory = 71, kEngineInterrupted = 72, kLostContext = 75;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGUSR1)
      return asked ? Ending::done : Ending::restart;
    return Ending::crash;
  }
  switch (WEXITSTATUS(status)) {
    case 0:
      return Ending::done;
    case 1:
      return report.sanitizer ? Ending::sanitizer : Ending::finding;
    case 2:
      return Ending::usage;
    case 3:
      return Ending::infrastructure;
    case kEngineTimeout:
      return Ending::hang;
    case kEngineMemory:
      return Ending::memory;
    case kEngineInterrupted:
      return asked ? Ending::done : Ending::restart;
    case kLostContext:
      return Ending::restart;
    case kEngineCrash:
      return report.sanitizer ? Ending::sanitizer : Ending::crash;
    default:
      return Ending::odd;
  }
}

std::string crash_key(int status, const CrashReport& report) {
  if (!report.stable.empty()) return report.stable;
  if (WIFSIGNALED(status)) {
    const char* abbreviation = ::sigabbrev_np(WTERMSIG(status));
    return abbreviation != nullptr ? abbreviation : fmt::format("signal {}", WTERMSIG(status));
  }
  return fmt::format("exit {}", WEXITSTATUS(status));
}

std::string tail_of(const fs::path& file, std::size_t limit) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(in.tellg());
  if (!in || size <= 0) return "";
  in.seekg(std::max<std::int64_t>(0, size - static_cast<std::int64_t>(limit)));
  std::string text(limit, '\0');
  in.read(text.data(), static_cast<std::streamsize>(limit));  // not more where it grows meanwhile
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

fs::path artifact_of(const fs::path& prefix) {
  const std::string start = prefix.filename().string();
  std::error_code error;
  for (fs::directory_iterator i(prefix.parent_path(), error), end; !error && i != end; i.increment(error)) {
    const std::string file = i->path().filename().string();
    if (!file.starts_with(start)) continue;
    for (const char* kind : {"crash-", "leak-", "timeout-", "oom-"}) {
      if (std::string_view(file).substr(start.size()).starts_with(kind)) return i->path();
    }
  }
  const fs::path climbing = climbing_file(prefix);
  return fs::exists(climbing, error) ? climbing : fs::path();
}

fs::path climbing_file(const fs::path& prefix) { return prefix.string() + kClimbing; }

void remove_climbing_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (i->path().filename().string().ends_with(std::string("-") + kClimbing)) old.push_back(i->path());
  }
  for (const fs::path& file : old) fs::remove(file, error);
}

}  // namespace flashproof
