#include "kernels/plugin/runner.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/device_driver.h"
#include "kernels/plugin/load.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// Closes the descriptors from 3 on but one. A filter of system calls may not know close_range: then one by one.
bool close_others(int kept) {
  const auto one = static_cast<unsigned>(kept);
  if ((one == 3 || ::close_range(3, one - 1, 0) == 0) && ::close_range(one + 1, ~0U, 0) == 0) return true;
  std::error_code error;
  std::vector<int> open;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    open.push_back(std::atoi(at->path().filename().c_str()));
  }
  for (const int descriptor : open) {
    if (descriptor >= 3 && descriptor != kept) ::close(descriptor);
  }
  return !error && !open.empty();
}

constexpr int kDropped[] = {CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_CHECKPOINT_RESTORE, CAP_PERFMON, CAP_BPF, CAP_SYS_RAWIO};

/// As root: without these it can neither trace a process that has them, nor send as another one, nor open the file behind a mapping, nor
/// see where a process has its memory or sample its stack (PERFMON, BPF), nor read the memory of all (RAWIO).
bool drop_rights() {
  for (const int capability : kDropped) ::prctl(PR_CAPBSET_DROP, capability);  // fails where there is none to drop
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  bool had = false;
  for (const int capability : kDropped) {
    __user_cap_data_struct& word = data.at(CAP_TO_INDEX(capability));
    const std::uint32_t right = CAP_TO_MASK(capability);
    had = had || ((word.effective | word.permitted | word.inheritable) & right) != 0;
    word.effective &= ~right, word.permitted &= ~right, word.inheritable &= ~right;
  }
  return !had || ::syscall(SYS_capset, &header, data.data()) == 0;
}

/// Descriptors, signals and rights as a program has them that was started by itself; not those of the process that judges.
/// Empty, or what the system refuses of it.
std::string leave_judge(int socket, int printed) {
  ::setsid();  // a signal to the process group of this one reaches no other
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(printed, standard) < 0) return "the output of a kernel's process";
  }
  if (!close_others(socket)) return "to close the descriptors of a kernel's process";
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(nothing, STDIN_FILENO) < 0) return "/dev/null";
  ::close(nothing);
  if (!drop_rights()) return "to drop the rights of a kernel's process";
  ::prctl(PR_SET_DUMPABLE, 1);  // a core file, or a debugger, is what the author of a kernel wants
  return {};
}

/// The environment for as long as it lives.
class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const std::fenv_t& environment) {
    std::fegetenv(&ours_);
    std::fesetenv(&environment);
  }
  ~ScopedEnvironment() { std::fesetenv(&ours_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::fenv_t ours_;
};

template <class Function>
auto guarded(const char* what, const std::fenv_t& environment, Function function) {
  try {
    const ScopedEnvironment scope(environment);
    return function();
  } catch (...) {
    throw KernelFault(std::string("a C++ exception left ") + what + "()");
  }
}

/// Zombies too, and those that a child left behind; the answer is for the message alone, the judge trusts none.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

std::uint32_t threads_of_this_process() {
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 ? static_cast<std::uint32_t>(tasks.st_nlink - 2) : 1;
}

/// The block in the memory of the device, as the judge laid it out on the host. It has the size of this call's block, rounded up to what
/// a driver hands out at once: a write further behind the last array is an illegal access there, if the driver has put nothing else
/// there. Between the last zone and the end of that unit a write goes unseen, which it does on no host.
class DeviceCopy {
 public:
  void send(CallRecord& record, std::byte* block, const PluginRequest& request) {
    const std::size_t bytes = (request.used + kUnit - 1) / kUnit * kUnit;
    if (bytes_ != bytes || parts_.size() > 1) {  // what large workspaces were filled with adds up to no other filling
      if (memory_ != nullptr) device::release(memory_);
      memory_ = nullptr, bytes_ = 0;
      memory_ = static_cast<std::byte*>(device::allocate(bytes));
      bytes_ = bytes;
    }
    // The record stays here. The workspace, if there is one, is what comes last.
    parts_ = {{record_bytes(), request.used}};
    if (record.call.workspace != nullptr) {
      const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(record.call.workspace) - block);
      parts_ = filled_parts(offset, static_cast<std::size_t>(record.call.workspace_bytes), request.phase);
      parts_.front().begin = record_bytes(), parts_.back().end = request.used;
    }
    const auto there = [&](void* data) -> void* {
      return data == nullptr ? nullptr : memory_ + (static_cast<std::byte*>(data) - block);
    };
    for (std::uint64_t i = 0; i < record.tensors; ++i) record.slots[i].tensor.data = there(record.slots[i].tensor.data);
    record.call.workspace = there(record.call.workspace);
    record.call.stream = device::stream();
    for (const auto& [begin, end] : parts_) device::upload(memory_ + begin, block + begin, end - begin);
  }
  void receive(std::byte* block) const {
    device::wait();
    for (const auto& [begin, end] : parts_) device::download(block + begin, memory_ + begin, end - begin);
  }

 private:
  static constexpr std::size_t kUnit = std::size_t{1} << 21;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<ByteRange> parts_;  // that go there and come back
};

class Server {
 public:
  Server(const Inherited& ours, const PluginProcess::Load& load)
      : socket_(ours.socket), block_(ours.block), load_(load), self_(::getpid()) {}

  /// False: the judge is gone.
  bool serve_one() {
    std::array<char, sizeof(PluginRequest) + 1024> bytes;
    ssize_t n = 0;
    while ((n = ::recv(socket_, bytes.data(), bytes.size(), 0)) < 0 && errno == EINTR) {
    }
    if (n < 0) ::_exit(kNoSocket);
    PluginRequest request{};
    if (n < static_cast<ssize_t>(sizeof request)) return false;
    std::memcpy(&request, bytes.data(), sizeof request);
    const std::string id(bytes.data() + sizeof request, static_cast<std::size_t>(n) - sizeof request);
    PluginReply reply{};
    reply.number = request.number;
    std::string text;
    try {
      reply.value = answer(request, id, text);
    } catch (const UsageError& e) {
      reply.kind = PluginReply::Kind::usage, text = e.what();
    } catch (const InfrastructureError& e) {
      reply.kind = PluginReply::Kind::infrastructure, text = e.what();
    } catch (const std::exception& e) {
      reply.kind = PluginReply::Kind::fault, text = e.what();
    } catch (...) {
      reply.kind = PluginReply::Kind::fault, text = "a C++ exception left flashproof_plugin_entry";
    }
    reply.forked = ::getpid() != self_ || has_children() ? 1 : 0;
    send(reply, text);
    if (::getpid() != self_) ::_exit(0);   // a child that came back from the kernel: its answer shows that it is there
    threads_ = threads_of_this_process();  // while the judge is at work
    return true;
  }

 private:
  void send(PluginReply reply, std::string_view text) const {
    do {
      const std::string_view part = text.substr(0, kPacketText);
      text.remove_prefix(part.size());
      reply.more = text.empty() ? 0 : 1;
      std::string packet(reinterpret_cast<const char*>(&reply), sizeof reply);
      packet += part;
      while (::send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
        if (errno != EINTR) ::_exit(kNoSocket);
      }
    } while (!text.empty());
  }

  const LoadedPlugin& library() {
    if (library_ == nullptr) library_ = &load_();
    return *library_;
  }

  std::int64_t answer(const PluginRequest& request, const std::string& id, std::string& text) {
    if (request.what == PluginRequest::What::list) {
      text = listing_text(*library().plugin);
      return 0;
    }
    const flashproof_plugin* plugin = nullptr;
    try {
      plugin = library().plugin;
    } catch (const UsageError& e) {  // it could be loaded when its kernels were listed
      throw KernelFault(e.what());
    }
    if (request.kernel >= plugin->kernel_count || id != plugin->kernels[request.kernel]->id) {
      throw KernelFault("the library lists other kernels than when it was asked first");
    }
    const flashproof_kernel& kernel = *plugin->kernels[request.kernel];
    if (request.what == PluginRequest::What::load) {
      if (kernel.device_type == FLASHPROOF_CUDA) device::stream();  // its context takes longer than a call
      return 0;
    }
    reach(open_block(block_, request.used));
    auto& record = *reinterpret_cast<CallRecord*>(block_);
    record.call.kernel = &kernel;
    record.threads = threads_;
    if (request.what == PluginRequest::What::workspace) {
      record.phase = CallPhase::running;
      const std::int64_t bytes = guarded("workspace_bytes", library_->environment, [&] {
        return kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(&record.call);
      });
      if (::getpid() != self_) return bytes;  // of a child: it has no such memory
      record.phase = CallPhase::returned;
      reach(shut_block(block_, request.used));  // the call may use less
      return bytes;
    }
    return run(kernel, record, request);
  }

  /// The judge has that memory: where a change of its pages fails, the library has unmapped or moved it in its process.
  static void reach(bool changed) {
    if (changed) return;
    throw KernelFault(std::string("the process cannot reach the memory of its call: ") + std::strerror(errno));
  }

  std::int64_t run(const flashproof_kernel& kernel, CallRecord& record, const PluginRequest& request) {
    const bool on_device = kernel.device_type == FLASHPROOF_CUDA;
    if (on_device) device_.send(record, block_, request);
    record.phase = CallPhase::running;
    const std::int32_t code = guarded("run", library_->environment, [&] { return kernel.run(&record.call); });
    if (::getpid() != self_) return code;  // of a child: it has no such memory
    if (on_device) device_.receive(block_);
    record.phase = CallPhase::returned;
    reach(shut_block(block_, request.used));  // a thread that goes on ends the process
    return code;
  }

  int socket_;
  std::byte* block_;
  PluginProcess::Load load_;
  pid_t self_;
  std::uint32_t threads_ = 1;  // after the last answer
  const LoadedPlugin* library_ = nullptr;
  DeviceCopy device_;
};

}  // namespace

void serve_plugin(const Inherited& ours, const PluginProcess::Load& load) {
  std::string refused = map_block(ours.block, ours.file) ? "" : "memory for a kernel's call";
  int why = errno;
  if (std::string more = leave_judge(ours.socket, ours.printed); refused.empty() && !more.empty()) {
    why = errno;
    refused = std::move(more);
  }
  Server server(
      ours, refused.empty() ? load : [refused, why]() -> const LoadedPlugin& {
        throw InfrastructureError(refused + ": " + std::strerror(why));
      });
  while (server.serve_one()) {
  }
  ::_exit(0);  // without what the library has left to do at exit
}

}  // namespace flashproof
