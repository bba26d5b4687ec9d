#include "reports/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "reference/problem/descriptor.h"
#include "reference/problem/error.h"
#include "reference/problem/process.h"
#include "reports/text.h"

namespace flashproof {
namespace {

constexpr int kPatience = 1000;  // milliseconds that a process without a pipe may take to end

[[noreturn]] void worker_main(int in, int out, const PoolHooks& hooks) {
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

void obey_parent(pid_t parent) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  die_with_parent(parent);
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw InfrastructureError(fmt::format("pipe to a worker process: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

WorkerProcess start_worker(const PoolHooks& hooks, const std::function<void()>& in_child) {
  const auto fail_here = [](const char* what) {
    throw InfrastructureError(fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_here("pipe to a worker process");
  Descriptor child_reads(ends[0]), we_write(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_here("pipe from a worker process");
  Descriptor we_read(ends[0]), child_writes(ends[1]);
  std::fflush(nullptr);  // or the child would write our buffers once more
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail_here("fork of a worker process");
  if (pid == 0) {
    obey_parent(parent);
    in_child();
    we_write.close(), we_read.close();
    worker_main(child_reads.get(), child_writes.get(), hooks);
  }
  return {pid, we_write.release(), we_read.release()};
}

int bury_worker(WorkerProcess& worker) {
  int status = 0;
  if (worker.pid > 0) {
    ::close(worker.to), ::close(worker.from);
    // Who closed its end and runs on is ended: the pipe was all that was known of it.
    for (int waited = 0; ::waitpid(worker.pid, &status, WNOHANG) == 0; ++waited) {
      if (waited == kPatience) ::kill(worker.pid, SIGKILL);
      ::usleep(1000);
    }
  }
  worker.pid = -1;
  return status;
}

void WorkerVoice::send(char tag, std::string_view text) { write_all(descriptor_, fmt::format("{}{}\n", tag, text)); }
void WorkerVoice::starting(std::uint64_t step) { send('>', std::to_string(step)); }
void WorkerVoice::returned() { send('<', ""); }
void WorkerVoice::result(std::uint64_t step, std::string_view text) { send('.', fmt::format("{} {}", step, text)); }
void WorkerVoice::note(std::string_view text) { send('=', text); }
void WorkerVoice::task_done() { send('#', ""); }
void WorkerVoice::infrastructure(std::string_view why) { send('!', one_line(why)); }

}  // namespace flashproof
