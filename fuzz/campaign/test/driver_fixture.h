// The program flashproof-fuzz on the fake target, as a process of its own, for tests.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "fuzz/campaign/test/campaign_fixture.h"

namespace flashproof {

class Driver : public CampaignTest {
 protected:
  using Clock = std::chrono::steady_clock;

  ~Driver() override {
    if (driver > 0) ::kill(driver, SIGKILL), wait();
  }
  pid_t spawn(const std::vector<std::string>& words, const std::string& name) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setpgid(0, 0);
    for (const char* variable : {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "FAKE_LIST"}) ::unsetenv(variable);
    ::dup2(::open((folder / (name + ".out")).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open((folder / (name + ".err")).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    std::vector<char*> arguments{const_cast<char*>(FLASHPROOF_FUZZ_DRIVER)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int call(const std::vector<std::string>& words) {
    int status = 0;
    ::waitpid(spawn(words, "call"), &status, 0);
    said = read_file(folder / "call.out"), complained = read_file(folder / "call.err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::vector<std::string> fuzz(const std::string& kernel, const std::string& seconds = "60") const {
    return {"fuzz",  "fake",   "--kernel", kernel,  "--format", "f32",       "--seconds",
            seconds, "--jobs", "2",        "--out", out.root,   "--targets", FLASHPROOF_FAKE_TARGETS};
  }
  /// Starts a campaign and waits until its archive holds executions.
  void start(const std::string& kernel) {
    std::uint64_t before = 0;
    if (fs::exists(out.archive())) before = executions();
    driver = spawn(fuzz(kernel), "driver");
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < end) {
      try {
        if (fs::exists(out.archive()) && executions() > before + 300) return;
      } catch (const std::runtime_error&) {  // it is being made
      }
      ::usleep(10'000);
    }
    FAIL() << read_file(folder / "driver.err");
  }
  int wait() {
    int status = 0;
    ::waitpid(driver, &status, 0);
    driver = -1;
    said = read_file(folder / "driver.out"), complained = read_file(folder / "driver.err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  /// Processes of the fake target that write into this test's folder.
  std::vector<pid_t> workers() const {
    std::vector<pid_t> result;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string line = read_file(entry.path() / "cmdline");
      if (line.find("fuzz_fake") != std::string::npos && line.find(out.archive().string()) != std::string::npos) {
        result.push_back(std::stoi(name));
      }
    }
    return result;
  }
  bool workers_end_within(double seconds) const {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!workers().empty()) {
      if (Clock::now() >= end) return false;
      ::usleep(10'000);
    }
    return true;
  }

  pid_t driver = -1;
};

}  // namespace flashproof
