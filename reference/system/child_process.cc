#include "reference/system/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <ranges>
#include <utility>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/process.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;
using End = ChildAnswer::End;

// An answer's last byte. Not the end of the pipe: a process that the child leaves behind may hold it open, and a child that ends in
// the middle of an answer closes it.
constexpr char kEnd = '\0';
constexpr int kPatience = 1000;  // milliseconds that a child which closed its pipe may take to end

/// Reads until kEnd, the other end's close, or a limit.
End read_answer(int from, const ChildLimits& limits, std::string& text) {
  const auto end = Clock::now() + std::chrono::duration<double>(limits.seconds);
  char chunk[65536];
  for (;;) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return End::timed_out;
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1) <= 0) continue;
    const ssize_t n = ::read(from, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return End::ended;
    const auto* stop = static_cast<const char*>(std::memchr(chunk, kEnd, static_cast<std::size_t>(n)));
    text.append(chunk, stop != nullptr ? static_cast<std::size_t>(stop - chunk) : static_cast<std::size_t>(n));
    if (text.size() > limits.bytes) return End::flooded;
    if (stop != nullptr) return End::answered;
  }
}

}  // namespace

pid_t fork_child(const std::function<void()>& work) {
  std::fflush(nullptr);  // or the child would write our buffers once more
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw InfrastructureError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid > 0) return pid;
  die_with_parent(parent);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    work();
  } catch (...) {  // no message: what threw is most often the pipe to the parent
    ::_exit(3);
  }
  std::fflush(nullptr);
  ::_exit(0);
}

int reap(pid_t child, int patience) {
  int status = 0;
  for (int waited = 0; ::waitpid(child, &status, WNOHANG) == 0; ++waited) {
    if (waited == patience) ::kill(child, SIGKILL);
    ::usleep(1000);
  }
  return status;
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

bool is_stopped(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

bool runs_another_program(pid_t child) {
  std::error_code error;
  const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", child), error);
  if (error) return false;
  const auto ours = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && theirs != ours;
}

namespace {

/// What a list of children holds; nothing, with errno, if it cannot be read.
std::optional<std::vector<pid_t>> read_children(const Descriptor& file) {
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> part;
  ssize_t n = 0;
  while ((n = ::pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  if (n < 0) return std::nullopt;
  std::vector<pid_t> pids;
  for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(at, end, pid);
    if (error != std::errc()) break;
    pids.push_back(pid);
    at = rest;  // a space follows
  }
  return pids;
}

Descriptor open_list(const std::string& path) { return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

[[noreturn]] void no_list(const std::string& path) {
  throw InfrastructureError(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace

std::vector<pid_t> ChildList::list() {
  const std::string path = "/proc/thread-self/children";
  if (!file_) file_ = open_list(path);
  std::optional<std::vector<pid_t>> children = read_children(file_);
  if (!children) no_list(path);
  return *std::move(children);
}

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string path = thread.path() / "children";
    const std::optional<std::vector<pid_t>> some = read_children(open_list(path));
    if (!some && std::filesystem::exists(thread.path())) no_list(path);
    if (!some) return children_of_this_process();  // the thread has ended: another has its children now
    children.insert(children.end(), some->begin(), some->end());
  }
  return children;
}

void end_children_except(const std::vector<pid_t>& kept) {
  constexpr int kRounds =
      100'000;  // a child that is killed hands its own to us, and one that forks and exits is a step ahead
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pid_t> children = children_of_this_process();
    std::erase_if(children, [&](pid_t child) { return std::ranges::find(kept, child) != kept.end(); });
    if (children.empty()) return;
    // The last is the one that may still run; those before it are waited for only when it is stopped.
    for (const pid_t child : std::views::reverse(children)) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, __WALL);
  }
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw InfrastructureError(fmt::format("pipe to another process: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string ChildAnswer::complaint() const {
  switch (end) {
    case End::answered:
      return "answered";
    case End::ended:
      return describe_status(status);
    case End::timed_out:
      return fmt::format("did not answer within {} s", limits.seconds);
    case End::flooded:
      break;
  }
  return fmt::format("answered with more than {} bytes", limits.bytes);
}

ChildAnswer ask_child(const std::function<std::string()>& question, const ChildLimits& limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw InfrastructureError(fmt::format("pipe: {}", std::strerror(errno)));
  Descriptor from(ends[0]), to(ends[1]);
  const pid_t pid = fork_child([&] {
    // The parent's handler only sets a flag, which this process never reads.
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    from.close();
    write_all(to.get(), question() + kEnd);
    ::_exit(0);  // whatever the code that was asked has left to do at exit
  });
  to.close();
  struct Reaped {  // whatever is thrown meanwhile
    pid_t pid;
    ~Reaped() {
      if (pid > 0) reap(pid, 0);
    }
  } child{pid};
  ChildAnswer answer{.end = End::ended, .text = {}, .status = 0, .limits = limits};
  answer.end = read_answer(from.get(), limits, answer.text);
  if (!answer.answered()) answer.text.clear();
  answer.status = reap(std::exchange(child.pid, 0), answer.end == End::ended ? kPatience : 0);
  return answer;
}

}  // namespace flashproof
