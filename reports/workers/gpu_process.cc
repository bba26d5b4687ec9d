#include "reports/workers/gpu_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "reference/system/child_process.h"
#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/process.h"

namespace flashproof {
namespace {

constexpr double kPeerSeconds = 30;  // a client that neither reads nor writes for so long is given up
constexpr int kCannotServe = 4;      // exit code, also that of a fork that fails: a fresh process would fare no better

timeval to_timeval(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<suseconds_t>((seconds - whole) * 1e6)};
}

/// What SIGALRM does: a kernel that hangs can only be ended with its process, and the client is told why.
struct {
  int client = -1;
  char message[128];
  std::size_t length = 0;
} g_timeout;

void set_timer(double seconds) {
  const itimerval timer{{0, 0}, to_timeval(seconds)};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void handle_timeouts() {
  struct sigaction action{};
  action.sa_handler = [](int) {
    [[maybe_unused]] const ssize_t sent = ::send(g_timeout.client, g_timeout.message, g_timeout.length, MSG_NOSIGNAL);
    ::_exit(0);
  };
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
}

bool receive_request(int fd, GpuRequest& request) {
  char* at = reinterpret_cast<char*>(&request);
  for (std::size_t left = sizeof request; left > 0;) {
    const ssize_t n = ::recv(fd, at, left, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, left -= static_cast<std::size_t>(n);
  }
  request.kernel[sizeof request.kernel - 1] = 0;
  return true;
}

struct Answer {
  std::string bytes;
  bool usable = true;  // false: the context is broken
};

/// `started` is called right before the kernel runs.
Answer answer(const GpuRequest& request, const Plan& plan, const GpuServerOptions& options,
              const std::function<void()>& started) {
  try {
    const Kernel* kernel = find_kernel(request.kernel);
    if (request.math != static_cast<std::uint64_t>(Math::det)) {  // made by the plan, which this process shares
      const auto native =
          std::find_if(plan.native.begin(), plan.native.end(), [&](const auto& k) { return k->id == request.kernel; });
      kernel = native == plan.native.end() ? nullptr : native->get();
    }
    if (kernel == nullptr) throw UsageError("no such kernel in the GPU process");
    const Problem problem = plan.make(request.case_index).problem;
    started();
    const Output output = options.runner(*kernel, problem);
    Answer ok{std::string(1, kGpuOk)};
    for (const Part part : parts(kernel->problem)) {
      const std::vector<std::byte>& storage = output[part].storage;
      ok.bytes.append(reinterpret_cast<const char*>(storage.data()), storage.size());
    }
    return ok;
  } catch (const UsageError& e) {
    return {kGpuUsage + std::string(e.what())};
  } catch (const KernelFault& e) {
    return {kGpuFault + std::string(e.what()), false};
  } catch (const std::exception& e) {
    return {kGpuInfrastructure + std::string(e.what()), false};
  }
}

/// One connection. False if this process can serve no more. A client that went away is no reason for that.
bool serve_one(int fd, const Plan& plan, const GpuServerOptions& options) {
  limit_waiting(fd, kPeerSeconds);
  GpuRequest request{};
  if (!receive_request(fd, request)) return true;
  const Answer reply = answer(request, plan, options, [&] {
    send_all(fd, &kGpuStarted, 1);
    g_timeout.client = fd;
    const auto text =
        fmt::format_to_n(g_timeout.message, sizeof g_timeout.message, "{}the kernel did not end on the GPU within {} s",
                         kGpuFault, options.kernel_seconds);
    g_timeout.length = std::min(text.size, sizeof g_timeout.message);
    set_timer(options.kernel_seconds);
  });
  set_timer(0);
  send_all(fd, reply.bytes.data(), reply.bytes.size());
  return reply.usable;
}

[[noreturn]] void serve(int listener, const Plan& plan, const GpuServerOptions& options) {
  handle_timeouts();
  for (bool usable = true; usable;) {
    const Descriptor client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
      usable = serve_one(client.get(), plan, options);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ::usleep(100'000);  // the client stays in the queue
    } else if (errno != EINTR && errno != ECONNABORTED) {
      ::_exit(kCannotServe);
    }
  }
  ::_exit(0);
}

}  // namespace

bool send_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<std::size_t>(n);
  }
  return true;
}

void limit_waiting(int fd, double seconds) {
  const timeval limit = to_timeval(seconds);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void supervise_gpu(int listener, int alive, const Plan& plan, const GpuServerOptions& options) {
  ignore_stop_signals();
  for (;;) {
    const pid_t pid = fork_child([&] {
      ::close(alive);
      serve(listener, plan, options);
    });
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotServe) ::_exit(kCannotServe);
  }
}

}  // namespace flashproof
