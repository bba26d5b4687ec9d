#include "kernels/plugin/plugin_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/plugin/own_time.h"
#include "kernels/plugin/printed.h"
#include "kernels/plugin/runner.h"
#include "reference/system/child_process.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr int kTick = 50;  // milliseconds; a process that the library left may hold the socket of one that has ended
constexpr int kPatience = 1000;    // milliseconds that a process without its socket may take to end
constexpr double kThreadsRun = 1;  // seconds that a thread which is ready to run may wait for a processor
constexpr std::size_t kMostText = std::size_t{1} << 24;  // of an answer

constexpr const char* kAnotherAnswer = "gave an answer that was not asked for: run() must return once";
constexpr const char* kForked = "forked: what a kernel starts must have ended when it returns";

struct Packet {
  PluginReply reply{};
  std::string text;
  pid_t from = 0;
};

/// Of this process: a library's process is never one that another left behind.
std::vector<pid_t>& own_processes() {
  static std::vector<pid_t> pids;
  return pids;
}

/// Drawn by the kernel of the system, so that no library guesses it: a late answer to one question is not taken for the answer to another.
std::uint64_t call_number() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number | 1;  // never 0
}

enum class Received { packet, nothing, closed };

/// One packet, if there is one. What a sender attaches beside its credentials is dropped.
Received receive(int socket, Packet& packet) {
  std::array<char, sizeof(PluginReply) + kPacketText> bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control.data(), message.msg_controllen = control.size();
  ssize_t n = 0;
  while ((n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
  if (n <= 0) return Received::closed;
  packet = {};
  const auto size = static_cast<std::size_t>(n);
  if (size >= sizeof packet.reply && (message.msg_flags & MSG_TRUNC) == 0) {
    std::memcpy(&packet.reply, bytes.data(), sizeof packet.reply);
    packet.text.assign(bytes.data() + sizeof packet.reply, size - sizeof packet.reply);
  }  // else number 0, which is never asked
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(c), sizeof who);
    packet.from = who.pid;
  }
  return Received::packet;
}

}  // namespace

struct PluginProcess::State {
  pid_t owner = ::getpid();
  Arena memory;
  Descriptor socket;
  std::optional<Printed> printed;
  pid_t pid = -1;
  std::vector<pid_t> others;  // children of ours that are not the library's
  ChildList children;
  std::uint64_t number = 0;   // of the question
  bool loaded = false;        // it has the library
  std::string asked, called;  // the kernel of the question; the one that answered last; empty: none did in this process
  std::uint64_t calls = 0;    // that settle() has seen

  State() { memory.write({}); }
  ~State() {
    if (owner == ::getpid()) end();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start(const Load& load) {
    int ends[2];
    const int on = 1;
    const auto failed = [] { throw InfrastructureError(fmt::format("socket to a process: {}", std::strerror(errno))); };
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) failed();
    socket = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    if (::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) failed();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the process leaves behind becomes a child of ours
    others = children_of_this_process();
    asked.clear(), called.clear();
    calls = 0;
    loaded = false;
    memory.write({});  // what an earlier process did to it is no fault of this one's
    printed.emplace();
    pid =
        fork_child([&] { serve_plugin({theirs.get(), printed->theirs().get(), memory.file(), memory.block()}, load); });
    printed->theirs().close();
    own_processes().push_back(pid);
  }

  /// Ends it and everything that it started. Returns its wait status.
  int end(int patience = 0) {
    if (pid < 0) return 0;
    const int status = reap(pid, patience);
    std::erase(own_processes(), pid);
    pid = -1;
    socket.close();
    printed->show_last();
    std::vector<pid_t> kept = others;
    kept.insert(kept.end(), own_processes().begin(), own_processes().end());
    end_children_except(kept);
    return status;
  }

  [[noreturn]] void fault(const std::string& how) {
    end();
    throw ProcessFault(how);
  }

  /// It has ended, or closed its socket.
  [[noreturn]] void gone() {
    // A thread of the library's may end the process before the judge has the answer, before the next call begins, or while it has begun:
    // the thread that runs the call goes on for a moment.
    const CallPhase phase = memory.record()->phase;
    const bool other_threads = phase == CallPhase::running && memory.record()->threads > 1;
    const std::string returned = phase == CallPhase::returned ? asked : phase == CallPhase::asked ? called : "";
    const bool another = runs_another_program(pid);
    for (int waited = 0; waited < kPatience && !has_ended(pid) && !another; ++waited) ::usleep(1000);
    if (another || !has_ended(pid)) fault(another ? "became another program (exec)" : "closed its socket to the judge");
    const int status = end();
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSocket) throw ProcessFault("closed its socket to the judge");
    std::string how = describe_status(status);
    if (!returned.empty()) how += fmt::format(" after {} had returned: the memory of a call ends with it", returned);
    if (other_threads) how += " with other threads of the library running: the memory of a call ends with it";
    throw ProcessFault(how);
  }

  /// A process that the library's has handed to us, or started beside itself: it did not see that one as a child.
  bool left_something() {
    const std::vector<pid_t> all = children.list();
    return std::ranges::any_of(all, [&](pid_t child) {
      return child != pid && std::ranges::find(others, child) == others.end() &&
             std::ranges::find(own_processes(), child) == own_processes().end();
    });
  }

  /// After so many seconds of its own, the library's process is ended, however many parts of an answer it has sent.
  Packet next(OwnTime& time, double seconds) {
    Packet packet;
    for (;;) {
      printed->show();
      const bool ended = has_ended(pid);  // asked first: what it sent before is read
      const double passed = time.passed();
      const Received received = receive(socket.get(), packet);
      if (received == Received::packet && (passed < seconds || packet.reply.more == 0)) return packet;
      if (received == Received::closed || ended) gone();
      const double left = 1e3 * (seconds - passed);
      if (left <= 0) fault(fmt::format("gave no result within {} s of its own time", seconds));
      if (time.on_the_clock() >= kBackstop * seconds) {
        fault(fmt::format("gave no result within {} s, {:.1f} s of them its own time", kBackstop * seconds, passed));
      }
      pollfd ready[] = {{socket.get(), POLLIN, 0}, {printed->ours(), POLLIN, 0}};
      ::poll(ready, std::size(ready), static_cast<int>(std::min<double>(left + 1, kTick)));
    }
  }

  void expect_unchanged() {
    if (memory.changed()) fault(fmt::format("wrote after {} had returned: the memory of a call ends with it", called));
  }

  void check(const Packet& packet) {
    if (packet.from != pid) fault(kForked);
    if (packet.reply.number != number) fault(kAnotherAnswer);
    if (packet.reply.forked != 0) fault(kForked);
  }
};

PluginProcess::PluginProcess(Load load, double seconds) : load_(std::move(load)), seconds_(seconds) {}
PluginProcess::~PluginProcess() = default;

PluginProcess::State& PluginProcess::started() {
  if (state_ && state_->owner != ::getpid()) state_.reset();
  if (!state_) state_ = std::make_unique<State>();
  if (state_->pid < 0) state_->start(load_);
  return *state_;
}

Arena& PluginProcess::arena() {
  State& state = started();
  expect_alive();
  // By a thread that goes on, through a second mapping: the first is taken away. What was judged is a copy.
  state.expect_unchanged();
  return state.memory;
}

void PluginProcess::settle() {
  if (std::has_single_bit(++state_->calls)) let_threads_run(state_->pid, kThreadsRun);
  expect_alive();
  state_->expect_unchanged();
}

void PluginProcess::restart() {
  if (state_ && state_->owner == ::getpid()) state_->end();
}

void PluginProcess::expect_alive() {
  if (state_->pid > 0 && has_ended(state_->pid)) state_->gone();
}

PluginProcess::Answer PluginProcess::ask(PluginRequest::What what, std::uint32_t kernel, std::string_view id) {
  State& state = started();
  if (!state.loaded && what != PluginRequest::What::list) {  // no part of the time that a call has
    exchange(state, PluginRequest::What::load, kernel, id);
    state.loaded = true;
  }
  return exchange(state, what, kernel, id);
}

PluginProcess::Answer PluginProcess::exchange(State& state, PluginRequest::What what, std::uint32_t kernel,
                                              std::string_view id) const {
  state.number = call_number();
  const PluginRequest request{state.number, what, kernel, state.memory.used(), state.memory.phase()};
  std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
  packet += id;
  state.asked = id;
  while (::send(state.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EPIPE || errno == ECONNRESET) break;  // an end that is closed shows below
    if (errno != EINTR) throw InfrastructureError(fmt::format("socket to a process: {}", std::strerror(errno)));
  }
  OwnTime time(state.pid);
  Answer answer;
  Packet part;
  do {
    part = state.next(time, seconds_);
    state.check(part);
    if (part.reply.more != 0 && part.text.empty()) state.fault("answered with a part that is empty");
    answer.text += part.text;
    if (answer.text.size() > kMostText) state.fault(fmt::format("answered with more than {} bytes", kMostText));
  } while (part.reply.more != 0);
  state.printed->show_last();  // by this call; the judge may ask no other
  answer.value = part.reply.value;
  if (Packet stray;
      receive(state.socket.get(), stray) == Received::packet) {  // nothing follows the last part of an answer
    state.fault(stray.from != state.pid || stray.reply.forked != 0 ? kForked : kAnotherAnswer);
  }
  if (part.reply.kind == PluginReply::Kind::done) {
    if (state.left_something()) state.fault(kForked);
    if (what != PluginRequest::What::load) state.called = id;
    return answer;
  }
  state.end();  // its GPU may be lost
  const std::string why = printable(answer.text, 400);
  if (part.reply.kind == PluginReply::Kind::usage) throw UsageError(why);
  if (part.reply.kind == PluginReply::Kind::infrastructure) throw InfrastructureError(why);
  throw KernelFault(why);
}

void forbid_tracing() { ::prctl(PR_SET_DUMPABLE, 0); }

void shield_judge() {
  forbid_tracing();
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGCHLD) std::signal(signal, SIG_IGN);  // a fault of our own ends us all the same
  }
  const std::uint64_t of_the_library = std::uint64_t{3}
                                       << 31;  // signals 32 and 33, which the C library keeps for itself
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &of_the_library, nullptr, sizeof of_the_library);
}

}  // namespace flashproof
