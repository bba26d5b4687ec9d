#include "reports/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "reference/problem/error.h"
#include "reports/text.h"

namespace flashproof {
namespace {

[[noreturn]] void worker_main(int in, int out, const PoolHooks& hooks) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C goes to the whole group; the parent decides
  std::signal(SIGTERM, SIG_DFL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is the parent's data
  WorkerVoice voice(out);
  int code = 0;
  try {
    FILE* stream = ::fdopen(in, "r");
    unsigned long long task = 0, step = 0;
    while (stream != nullptr && std::fscanf(stream, "%llu %llu", &task, &step) == 2) {
      hooks.work(task, step, voice);
      voice.task_done();
    }
  } catch (const std::exception& e) {
    code = 3;
    try {
      voice.infrastructure(e.what());
    } catch (const std::exception&) {  // the parent is gone; so are we
    }
  }
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw InfrastructureError(fmt::format("pipe to a worker process: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

WorkerProcess start_worker(const PoolHooks& hooks, const std::function<void()>& in_child) {
  const auto fail_here = [](const char* what) {
    throw InfrastructureError(fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) fail_here("pipe");
  if (::pipe2(up, O_CLOEXEC) != 0) {
    ::close(down[0]), ::close(down[1]);
    fail_here("pipe");
  }
  std::fflush(nullptr);  // or the child would write our buffers once more
  const pid_t pid = ::fork();
  if (pid < 0) fail_here("fork");
  if (pid == 0) {
    in_child();
    ::close(down[1]), ::close(up[0]);
    worker_main(down[0], up[1], hooks);
  }
  ::close(down[0]), ::close(up[1]);
  return {pid, down[1], up[0]};
}

int bury_worker(WorkerProcess& worker) {
  int status = 0;
  if (worker.pid > 0) {
    ::close(worker.to), ::close(worker.from);
    while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  worker.pid = -1;
  return status;
}

void WorkerVoice::send(char tag, std::string_view text) { write_all(descriptor_, fmt::format("{}{}\n", tag, text)); }
void WorkerVoice::starting(std::uint64_t step) { send('>', std::to_string(step)); }
void WorkerVoice::returned() { send('<', ""); }
void WorkerVoice::line(std::string_view text) { send('=', text); }
void WorkerVoice::complete(std::uint64_t step) { send('.', std::to_string(step)); }
void WorkerVoice::task_done() { send('#', ""); }
void WorkerVoice::infrastructure(std::string_view why) { send('!', one_line(why)); }

}  // namespace flashproof
