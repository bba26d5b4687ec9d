#include "reports/workers/gpu_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/gpu_process.h"

namespace flashproof {
namespace {

/// The queue before a request can be as long as there are workers, each with a kernel that hangs; a server that says
/// nothing for this long is stopped, not busy.
constexpr double kQueueSeconds = 3600;
constexpr double kMarginSeconds = 30;  // beyond the kernel's own limit: the server's end and the answer's way

[[noreturn]] void fail_here(const char* what) {
  throw InfrastructureError(fmt::format("GPU process, {}: {}", what, std::strerror(errno)));
}

Descriptor connect_to(const std::string& address) {
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) fail_here("socket");
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(address.data()),
                   static_cast<socklen_t>(address.size())) != 0) {
    if (errno != EINTR) fail_here("connect");
  }
  return fd;
}

/// What comes next, at most 64 KiB; empty at the end of the connection.
std::string receive_some(int fd) {
  char chunk[65536];
  for (;;) {
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n >= 0) return {chunk, static_cast<std::size_t>(n)};
    if (errno == ECONNRESET) return {};
    if (errno == EAGAIN) throw InfrastructureError("GPU process: no answer, though it is still there");
    if (errno != EINTR) fail_here("receive");
  }
}

}  // namespace

ChildAnswer ask_elsewhere(const std::function<std::string()>& question) {
  constexpr ChildLimits kLimits{.seconds = 120, .bytes = 4096};  // a driver takes seconds to wake eight GPUs
  return ask_child([&] { return question().substr(0, kLimits.bytes); }, kLimits);
}

int cuda_devices_elsewhere(std::string* why) {
  const ChildAnswer answer = ask_elsewhere([] {
    std::string reason = "no reason given";
    const int count = cuda_devices(&reason);
    return fmt::format("{} {}", count, reason);
  });
  const std::string text =
      answer.answered() ? answer.text : "0 the process that asked the CUDA driver " + answer.complaint();
  if (why != nullptr) *why = one_line(text.substr(std::min(text.size(), text.find(' ') + 1)));
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

Output run_on_gpu(const Kernel& kernel, const Problem& problem) {
  RunOptions options;
  options.executor = Executor::cuda;
  return run(kernel, problem, options);
}

GpuServer::GpuServer(const Plan& plan, const GpuServerOptions& options) : kernel_seconds_(options.kernel_seconds) {
  // Closed here at the end: once the server is gone, a connection is refused instead of waiting for ever.
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) fail_here("socket");
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Binding only the family lets the kernel choose a free name in the abstract space: no file, nothing to clean up.
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      ::listen(listener.get(), 1024) != 0) {
    fail_here("listen");
  }
  address_.assign(reinterpret_cast<const char*>(&name), length);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_here("pipe");
  alive_ = Descriptor(ends[0]);
  const Descriptor keep_alive(ends[1]);
  supervisor_ = fork_child([&] { supervise_gpu(listener.get(), keep_alive.get(), plan, options); });
}

GpuServer::~GpuServer() {
  ::kill(supervisor_, SIGKILL);  // its child follows by PR_SET_PDEATHSIG
  while (::waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Output GpuServer::run(const Kernel& kernel, std::size_t case_index, const Problem& problem,
                      const std::function<void()>& started) const {
  const Descriptor fd = connect_to(address_);
  limit_waiting(fd.get(), kQueueSeconds);
  GpuRequest request{};
  request.case_index = case_index;
  request.math = static_cast<std::uint64_t>(kernel.math);
  kernel.id.copy(request.kernel, sizeof request.kernel - 1);
  if (!send_all(fd.get(), &request, sizeof request)) fail_here("send");

  std::string reply = receive_some(fd.get());
  if (reply.empty()) throw InfrastructureError("GPU process: ended before this kernel's turn");
  if (reply[0] == kGpuStarted) {
    reply.erase(0, 1);
    if (started) started();
    limit_waiting(fd.get(), kernel_seconds_ + kMarginSeconds);
  }
  for (std::string more; !(more = receive_some(fd.get())).empty();) reply += more;
  if (reply.empty()) {
    pollfd supervisor{alive_.get(), 0, 0};  // POLLHUP is always reported
    if (::poll(&supervisor, 1, 0) != 0) throw InfrastructureError("GPU process: its supervisor was killed");
    throw GpuProcessEnded("the process that owns the GPU ended while it ran this kernel");
  }
  const std::string text = reply.substr(1);
  if (reply[0] == kGpuUsage) throw UsageError(text);
  if (reply[0] == kGpuFault) throw KernelFault(text);
  if (reply[0] != kGpuOk) throw InfrastructureError(text);
  Output output;
  std::size_t at = 0;
  for (const Part part : parts(kernel.problem)) {
    output[part] = Tensor::dense(output_format(problem, part), output_shape(problem, part));
    std::vector<std::byte>& storage = output[part].storage;
    if (storage.size() > text.size() - at) break;
    if (!storage.empty()) std::memcpy(storage.data(), text.data() + at, storage.size());
    at += storage.size();
  }
  if (at != text.size() || output[parts(kernel.problem).back()].shape.empty()) {
    throw GpuProcessEnded("the process that owns the GPU sent an incomplete output");
  }
  return output;
}

}  // namespace flashproof
