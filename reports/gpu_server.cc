#include "reports/gpu_server.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "kernels/run.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr char kOk = 'o', kUsage = 'u', kInfrastructure = 'i';

[[noreturn]] void fail_here(const char* what) {
  throw InfrastructureError(fmt::format("GPU process, {}: {}", what, std::strerror(errno)));
}

void send_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_here("send");
    at += n, size -= static_cast<std::size_t>(n);
  }
}

/// Until the other side closes.
std::string receive_all(int fd) {
  std::string text;
  char chunk[65536];
  for (;;) {
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

struct Request {
  std::uint64_t case_index;
  char kernel[128];
};

/// One connection: a request in, one tag byte and the bytes of o and lse (or a message) out. False if the context is
/// broken.
bool serve_one(int fd, const Plan& plan, const GpuRunner& runner) {
  Request request{};
  if (::recv(fd, &request, sizeof request, MSG_WAITALL) != static_cast<ssize_t>(sizeof request)) return true;
  std::string reply;
  bool usable = true;
  try {
    request.kernel[sizeof request.kernel - 1] = 0;
    const Kernel* kernel = find_kernel(request.kernel);
    if (kernel == nullptr) throw UsageError("no such kernel in the GPU process");
    const Output output = runner(*kernel, plan.make(request.case_index).problem);
    reply = kOk;
    for (const Tensor* tensor : {&output.o, &output.lse}) {
      reply.append(reinterpret_cast<const char*>(tensor->storage.data()), tensor->storage.size());
    }
  } catch (const UsageError& e) {
    reply = std::string(1, kUsage) + e.what();
  } catch (const std::exception& e) {
    reply = std::string(1, kInfrastructure) + e.what();
    usable = false;
  }
  send_all(fd, reply.data(), reply.size());
  return usable;
}

[[noreturn]] void serve(int listener, const Plan& plan, const GpuRunner& runner) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    for (bool usable = true; usable;) {
      const int fd = ::accept(listener, nullptr, nullptr);
      if (fd < 0) continue;
      usable = serve_one(fd, plan, runner);
      ::close(fd);
    }
  } catch (const std::exception&) {  // the asking worker is gone; a fresh process serves the next
  }
  ::_exit(0);
}

[[noreturn]] void supervise(int listener, const Plan& plan, const GpuRunner& runner) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  for (;;) {
    const pid_t pid = ::fork();
    if (pid < 0) ::_exit(3);
    if (pid == 0) serve(listener, plan, runner);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

int cuda_devices_elsewhere(std::string* why) {
  int channel[2];
  if (::pipe(channel) != 0) fail_here("pipe");
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) fail_here("fork");
  if (pid == 0) {
    std::string text = "no reason given";
    const int count = cuda_devices(&text);
    const std::string reply = fmt::format("{} {}", count, text);
    const bool sent = ::write(channel[1], reply.data(), reply.size()) == static_cast<ssize_t>(reply.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(channel[1]);
  char text[1024] = {};
  const ssize_t n = ::read(channel[0], text, sizeof text - 1);
  ::close(channel[0]);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (n <= 0) {
    if (why != nullptr) *why = "the CUDA driver ended the process that asked it";
    return 0;
  }
  char* rest = text;
  const long count = std::strtol(text, &rest, 10);
  if (why != nullptr) *why = *rest == ' ' ? rest + 1 : rest;
  return static_cast<int>(count);
}

Output run_on_gpu(const Kernel& kernel, const Problem& problem) {
  RunOptions options;
  options.executor = Executor::cuda;
  return run(kernel, problem, options);
}

GpuServer::GpuServer(const Plan& plan, const GpuRunner& runner) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) fail_here("socket");
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Binding only the family lets the kernel choose a free name in the abstract space: no file, nothing to clean up.
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &length) != 0 || ::listen(listener_, 1024) != 0) {
    fail_here("listen");
  }
  address_.assign(reinterpret_cast<const char*>(&name), length);
  std::fflush(nullptr);
  supervisor_ = ::fork();
  if (supervisor_ < 0) fail_here("fork");
  if (supervisor_ == 0) supervise(listener_, plan, runner);
}

GpuServer::~GpuServer() {
  if (supervisor_ > 0) {
    ::kill(supervisor_, SIGKILL);  // its child follows by PR_SET_PDEATHSIG
    while (::waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (listener_ >= 0) ::close(listener_);
}

Output GpuServer::run(const Kernel& kernel, std::size_t case_index, const Problem& problem) const {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail_here("socket");
  Request request{};
  request.case_index = case_index;
  kernel.id.copy(request.kernel, sizeof request.kernel - 1);
  std::string reply;
  try {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(address_.data()), static_cast<socklen_t>(address_.size())) !=
        0) {
      fail_here("connect");
    }
    send_all(fd, &request, sizeof request);
    reply = receive_all(fd);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
  if (reply.empty()) throw GpuProcessDied("the process that owns the GPU died while it ran this kernel");
  const std::string text = reply.substr(1);
  if (reply[0] == kUsage) throw UsageError(text);
  if (reply[0] == kInfrastructure) throw InfrastructureError(text);
  const OutputShape shape = output_shape(problem);
  Output output{Tensor::dense(format_of(problem), {shape.rows, shape.width}), Tensor::dense(Format::f32, {shape.rows})};
  const std::size_t o = output.o.storage.size(), lse = output.lse.storage.size();
  if (text.size() != o + lse) throw GpuProcessDied("the process that owns the GPU sent an incomplete output");
  if (o > 0) std::memcpy(output.o.storage.data(), text.data(), o);
  if (lse > 0) std::memcpy(output.lse.storage.data(), text.data() + o, lse);
  return output;
}

}  // namespace flashproof
