#include "fuzz/campaign/worker/target_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "properties/generators/glob.h"
#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostOutput = 16U << 20U;

[[noreturn]] void fail(const char* what) {
  throw InfrastructureError(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Forks; the child has `out` and `err` as its standard descriptors and becomes the command.
pid_t spawn(const Command& command, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) fail("/dev/null");
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork of a worker process");
  if (pid > 0) {
    ::setpgid(pid, pid);  // in both processes: either may be first
    return pid;
  }
  ::setpgid(0, 0);
  die_with_parent(parent);
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  const char* why = std::strerror(errno);
  // A failure of these cannot be helped.
  [[maybe_unused]] const bool said =
      ::write(STDERR_FILENO, why, std::strlen(why)) + ::write(STDERR_FILENO, "\n", 1) > 0;
  ::_exit(127);
}

void drain(Descriptor& from, std::string& to) {
  char chunk[65536];
  const ssize_t n = ::read(from.get(), chunk, sizeof chunk);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) return from.close();
  to.append(chunk, std::min(static_cast<std::size_t>(n), kMostOutput - to.size()));
}

std::vector<fs::path> target_folders(const fs::path& folder) {
  if (!folder.empty()) return {folder};
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) throw InfrastructureError(fmt::format("/proc/self/exe: {}", error.message()));
  return {here, here / "targets", here.parent_path(), here.parent_path() / "targets"};
}

}  // namespace

pid_t start_target(const Command& command, const fs::path& log) {
  const Descriptor file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) fail(printable(log.string(), 4096).c_str());
  return spawn(command, file.get(), file.get());
}

Answer ask_target(const Command& command, double seconds) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) fail("pipe from a target");
  Descriptor read_out(out[0]), write_out(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) fail("pipe from a target");
  Descriptor read_err(err[0]), write_err(err[1]);
  const pid_t pid = spawn(command, write_out.get(), write_err.get());
  write_out.close(), write_err.close();
  Answer answer;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (read_out || read_err) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) {
      answer.timed_out = true;
      ::kill(-pid, SIGKILL);
      break;
    }
    // poll() leaves negative descriptors alone.
    pollfd polled[2] = {{read_out ? read_out.get() : -1, POLLIN, 0}, {read_err ? read_err.get() : -1, POLLIN, 0}};
    if (::poll(polled, 2, static_cast<int>(std::min<long>(left, 1000))) <= 0) continue;
    if (polled[0].revents != 0) drain(read_out, answer.out);
    if (polled[1].revents != 0) drain(read_err, answer.err);
  }
  // It may have closed both and linger.
  while (!answer.timed_out && ::waitpid(pid, &answer.status, WNOHANG) == 0) {
    answer.timed_out = Clock::now() >= end;
    if (answer.timed_out) ::kill(-pid, SIGKILL);
    ::usleep(1000);
  }
  if (answer.timed_out) {
    while (::waitpid(pid, &answer.status, 0) < 0 && errno == EINTR) {
    }
  }
  return answer;
}

fs::path find_target(const std::string& name, const fs::path& folder) {
  const std::string prefix = "fuzz_";
  std::vector<std::string> known;
  for (const fs::path& place : target_folders(folder)) {
    const fs::path program = place / (prefix + name);
    std::error_code error;
    if (is_name(name) && fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0)
      return fs::absolute(program);
    for (fs::directory_iterator i(place, error), end; !error && i != end; i.increment(error)) {
      const std::string file = i->path().filename().string();
      const bool program_file = i->is_regular_file(error) && ::access(i->path().c_str(), X_OK) == 0;
      if (file.starts_with(prefix) && program_file && is_name(file.substr(prefix.size())))
        known.push_back(file.substr(prefix.size()));
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (known.empty()) throw UsageError(fmt::format("unknown target {}: no fuzz_NAME is built here", quote(name)));
  const std::vector<std::string_view> views(known.begin(), known.end());
  throw UsageError(unknown_name("target", name, views));
}

std::string last_line(std::string_view text) {
  constexpr std::size_t kLongest = 300;
  constexpr std::string_view kOurs = "flashproof: ";
  std::string_view last;
  bool ours = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool complaint = line.starts_with(kOurs);
    if (complaint) last = line.substr(kOurs.size()), ours = true;
    if (!ours && line.find_first_not_of(" \r\t") != std::string_view::npos) last = line;
  }
  return printable(last, kLongest);
}

}  // namespace flashproof
