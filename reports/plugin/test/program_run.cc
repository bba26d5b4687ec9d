#include "reports/plugin/test/program_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "reference/system/child_process.h"
#include "reference/system/program.h"
#include "reference/system/read_file.h"
#include "reports/plugin/main.h"

namespace flashproof {
namespace {

constexpr int kMost = 60'000;  // milliseconds

/// Its wait status; the signals that stop it meanwhile go to `stops`.
int wait_and_continue(pid_t child, std::vector<int>& stops) {
  int status = 0;
  for (int waited = 0;; ++waited) {
    const pid_t changed = ::waitpid(child, &status, WNOHANG | WUNTRACED);
    if (changed == child && WIFSTOPPED(status)) {
      stops.push_back(WSTOPSIG(status));
      ::kill(-child, SIGCONT);
    } else if (changed != 0) {
      return status;
    }
    if (waited == kMost) ::kill(child, SIGKILL);
    ::usleep(1000);
  }
}

}  // namespace

int ProgramRun::code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

ProgramRun run_plugin_program(std::vector<std::string> words, const std::function<void()>& in_child) {
  std::string folder = std::filesystem::temp_directory_path() / "flashproof-run-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string out = folder + "/stdout", err = folder + "/stderr";
  words.insert(words.begin(), "flashproof-plugin");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  const pid_t child = fork_child([&] {
    ::setpgid(0, 0);
    if (std::freopen(out.c_str(), "w", stdout) == nullptr || std::freopen(err.c_str(), "w", stderr) == nullptr) {
      ::_exit(99);
    }
    if (in_child) in_child();
    const int code = run_program([&] { return plugin_main(static_cast<int>(argv.size()), argv.data()); });
    std::fflush(nullptr);
    ::_exit(code);
  });
  ProgramRun run;
  run.status = wait_and_continue(child, run.stops);
  run.out = read_file(out, 1 << 24);
  run.err = read_file(err, 1 << 24);
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace flashproof
