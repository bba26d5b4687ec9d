#include "reports/workers/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "reference/system/child_process.h"
#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr int kPatience = 1000;  // milliseconds that a process without a pipe may take to end

[[noreturn]] void worker_main(int in, int out, const PoolHooks& hooks) {
  StepReporter reporter(out);
  int code = 0;
  try {
    FILE* stream = ::fdopen(in, "r");
    unsigned long long task = 0, step = 0;
    while (stream != nullptr && std::fscanf(stream, "%llu %llu", &task, &step) == 2) {
      hooks.work(task, step, reporter);
      reporter.task_done();
    }
  } catch (const std::exception& e) {
    code = 3;
    try {
      reporter.infrastructure(e.what());
    } catch (const std::exception&) {  // the pipe to the parent is closed: no way to report it
    }
  }
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

WorkerProcess start_worker(const PoolHooks& hooks, const std::function<void()>& in_child) {
  const auto fail_here = [](const char* what) {
    throw InfrastructureError(fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_here("pipe to a worker process");
  Descriptor child_reads(ends[0]), we_write(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_here("pipe from a worker process");
  Descriptor we_read(ends[0]), child_writes(ends[1]);
  const pid_t pid = fork_child([&] {
    ignore_stop_signals();
    in_child();
    we_write.close(), we_read.close();
    worker_main(child_reads.get(), child_writes.get(), hooks);
  });
  return {pid, we_write.release(), we_read.release()};
}

int reap_worker(WorkerProcess& worker) {
  int status = 0;
  if (worker.pid > 0) {
    ::close(worker.to), ::close(worker.from);
    status = reap(worker.pid, kPatience);  // the pipe was all that was known of who closed its end and runs on
  }
  worker.pid = -1;
  return status;
}

void StepReporter::send(char tag, std::string_view text) { write_all(descriptor_, fmt::format("{}{}\n", tag, text)); }
void StepReporter::starting(std::uint64_t step) { send('>', std::to_string(step)); }
void StepReporter::returned() { send('<', ""); }
void StepReporter::result(std::uint64_t step, std::string_view text) { send('.', fmt::format("{} {}", step, text)); }
void StepReporter::note(std::string_view text) { send('=', text); }
void StepReporter::task_done() { send('#', ""); }
void StepReporter::infrastructure(std::string_view why) { send('!', one_line(why)); }

}  // namespace flashproof
