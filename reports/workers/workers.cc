#include "reports/workers/workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "reference/system/child_process.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/worker_process.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  std::uint64_t task = 0;
  std::uint64_t first_step = 0;
  int failures = 0;  // outside steps, since the task's last result
  bool again = false;
};

struct Worker : WorkerProcess {
  std::string buffer;
  std::optional<Job> job;
  std::optional<std::uint64_t> step;  // running now
  std::uint64_t resume = 0;           // the next step: all before it have been answered, or ended their process
  std::string complaint;
  std::string fault;  // why the running step was ended by us
  Clock::time_point since;
  std::optional<Clock::time_point> stopped;  // by a signal, which no process that judges can ignore
  std::optional<Clock::time_point> over;     // it has ended, or was killed, and its pipe is open yet
};

/// A step may leave a process behind that holds our pipe open: the end of its worker is then not seen there.
constexpr double kGrace = 1;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Pool {
 public:
  Pool(std::uint64_t tasks, const PoolHooks& hooks, const PoolOptions& options)
      : tasks_(tasks), hooks_(hooks), options_(options) {
    workers_.resize(static_cast<std::size_t>(std::max(1, options.jobs)));
  }
  ~Pool() {
    for (Worker& w : workers_) {
      if (w.pid > 0) ::kill(w.pid, SIGKILL);
      reap_worker(w);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool run() {
    while (!stop_requested() && done_ < tasks_) {
      for (Worker& w : workers_) {
        if (!w.job) give_job(w);
      }
      wait_for_lines(250);
      end_steps();
      if (hooks_.progress) hooks_.progress(done_);
    }
    if (stop_requested()) take_what_has_arrived();
    return done_ >= tasks_;
  }

 private:
  std::optional<Job> next_job() {
    if (!retries_.empty()) {
      const Job job = retries_.front();
      retries_.pop_front();
      return job;
    }
    if (next_ < tasks_) return Job{next_++};
    return std::nullopt;
  }

  void give_job(Worker& w) {
    const auto job = next_job();
    if (!job) return;
    // What is tried again begins in a process that knows all that the hooks have learned by now, of the crash above all.
    if (job->again) reap_worker(w);
    if (w.pid < 0) start(w);
    w.job = job;
    w.resume = job->first_step;
    try {
      write_all(w.to, fmt::format("{} {}\n", job->task, job->first_step));
    } catch (const InfrastructureError&) {
      // It ended while idle: its pipe reports that, and the job is tried again.
    }
  }

  void start(Worker& w) {
    w = Worker{};
    static_cast<WorkerProcess&>(w) = start_worker(hooks_, [&] {
      // A sibling's pipe end held open in the child would hide that sibling's end from us.
      for (const Worker& other : workers_) {
        if (other.pid > 0) ::close(other.to), ::close(other.from);
      }
    });
  }

  /// Of workers that may go on sending: a pipe holds 16 pages, at most a few reads.
  void take_what_has_arrived() {
    constexpr int kReads = 64;
    for (int n = 0; n < kReads && wait_for_lines(0); ++n) {
    }
    if (hooks_.progress) hooks_.progress(done_);
  }

  /// False: none came.
  bool wait_for_lines(int milliseconds) {
    std::vector<pollfd> polled;
    std::vector<Worker*> of;
    for (Worker& w : workers_) {
      if (w.pid > 0) polled.push_back({w.from, POLLIN, 0}), of.push_back(&w);
    }
    const int ready = ::poll(polled.data(), polled.size(), milliseconds);
    // For ever, as where a kernel has set the limit of our descriptors to 0.
    if (ready < 0 && errno != EINTR) {
      throw InfrastructureError(fmt::format("waiting for worker processes: {}", std::strerror(errno)));
    }
    if (ready <= 0) return false;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) read_lines(*of[i]);
    }
    return true;
  }

  void read_lines(Worker& w) {
    char chunk[65536];
    const ssize_t n = ::read(w.from, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return handle_death(w);
    w.buffer.append(chunk, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; w.fault.empty() && (end = w.buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      handle_line(w, w.buffer.substr(begin, end - begin));
    }
    w.buffer.erase(0, begin);
  }

  /// A kernel may write into every descriptor of its process, so the line can be anything. While a step runs that is its doing.
  void handle_line(Worker& w, const std::string& line) {
    try {
      if (line.empty() || !w.job) throw UsageError("a message out of turn");
      understand(w, line[0], line.substr(1));
    } catch (const std::exception& e) {
      const std::string what = fmt::format("sent a malformed line: {}", one_line(e.what()));
      if (!w.step) throw InfrastructureError("a worker process " + what);
      end(w, what);
    }
  }

  /// The number that a line begins with. Steps are answered once and in order: a line with another number is not the worker's own.
  static std::uint64_t next_step(const Worker& w, const std::string& text) {
    const std::uint64_t step = std::stoull(text);
    if (step != w.resume) throw UsageError(fmt::format("step {} in place of {}", step, w.resume));
    return step;
  }

  void understand(Worker& w, char tag, const std::string& text) {
    switch (tag) {
      case '>':
        w.step = next_step(w, text), w.since = Clock::now();
        break;
      case '<':
        w.step.reset();
        break;
      case '.': {
        const std::uint64_t step = next_step(w, text);
        hooks_.result(w.job->task, step, text.substr(text.find(' ') + 1));
        w.resume = step + 1, w.job->failures = 0;
        break;
      }
      case '=':
        if (hooks_.note) hooks_.note(text);
        break;
      case '#':
        if (w.step || (hooks_.steps && w.resume != hooks_.steps(w.job->task))) {
          throw UsageError(fmt::format("the end of a task before step {} was answered", w.step.value_or(w.resume)));
        }
        w.job.reset(), ++done_;
        break;
      case '!':
        w.complaint = text.empty() ? "a worker process failed" : text;
        break;
      default:
        throw UsageError("unknown tag");
    }
  }

  void handle_death(Worker& w) {
    const int status = reap_worker(w);
    if (!w.job) return;
    const Job job = *w.job;
    w.job.reset();
    if (stop_requested()) return;  // whatever asked us to stop may have ended the worker, too
    if (w.step && w.complaint.empty()) {
      hooks_.crashed(job.task, *w.step, w.fault.empty() ? describe_status(status) : w.fault);
      retries_.push_back({job.task, *w.step + 1, 0, true});
      return;
    }
    // Not a kernel's fault: once more from the step that was interrupted.
    const std::string why = w.complaint.empty() ? "a worker process " + describe_status(status) : w.complaint;
    if (job.failures + 1 >= options_.infrastructure_limit) throw InfrastructureError(why);
    retries_.push_back({job.task, w.resume, job.failures + 1, true});
  }

  static void end(Worker& w, const std::string& why) {
    w.fault = why;
    w.over = Clock::now();
    ::kill(w.pid, SIGKILL);
  }

  /// Not for the moment in which a terminal stops and continues all of us, one after another.
  static bool stays_stopped(Worker& w) {
    if (!is_stopped(w.pid)) {
      w.stopped.reset();
      return false;
    }
    if (!w.stopped) w.stopped = Clock::now();
    return seconds_since(*w.stopped) > kGrace;
  }

  void end_steps() {
    for (Worker& w : workers_) {
      if (w.pid < 0) continue;
      if (w.over) {
        if (seconds_since(*w.over) > kGrace) handle_death(w);
      } else if (w.step && stays_stopped(w)) {
        end(w, "was stopped by a signal");
      } else if (w.step && seconds_since(w.since) > options_.step_seconds) {
        end(w, fmt::format("gave no result within {} s", options_.step_seconds));
      } else if (has_ended(w.pid)) {
        w.over = Clock::now();  // what it wrote is read first
      }
    }
  }

  std::uint64_t tasks_, next_ = 0, done_ = 0;
  const PoolHooks& hooks_;
  const PoolOptions& options_;
  std::vector<Worker> workers_;
  std::deque<Job> retries_;
};

}  // namespace

PoolOutcome run_pool(std::uint64_t tasks, const PoolHooks& hooks, const PoolOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return {Pool(tasks, hooks, options).run(), {}};
  } catch (const InfrastructureError& e) {
    return {false, e.what()};
  }
}

}  // namespace flashproof
