// The real program as a child process in a folder of its own, for its tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/system/test/temporary_folder.h"

namespace flashproof {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Cli : public testing::Test {
 protected:
  /// Runs the program in `folder`; returns its exit code.
  int run(const std::string& arguments) { return run_shell("'" FLASHPROOF_CLI "' >stdout 2>stderr " + arguments); }
  /// Any command in `folder`.
  int run_shell(const std::string& command) {
    const int status = std::system(("cd '" + folder.string() + "' && " + command).c_str());
    collect();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void collect() {
    out = read_file(folder / "stdout");
    err = read_file(folder / "stderr");
  }
  /// Runs the program in a process group of its own, waits until it has finished cases, sends SIGTERM to it or to the
  /// group, and returns its exit code.
  int run_until_stopped(const std::string& arguments, bool whole_group) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      const std::string command =
          "set -f; cd '" + folder.string() + "' && exec '" FLASHPROOF_CLI "' " + arguments + " >stdout 2>stderr";
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    ::setpgid(pid, pid);
    int status = 0;
    // "flashproof: 12 of 345 cases, ...": the first such line comes after a second.
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      const std::string said = read_file(folder / "stderr");
      const std::size_t at = said.rfind("flashproof: ");
      if (at != std::string::npos && said.find(" of ", at) != std::string::npos && said[at + 12] != '0') {
        ::kill(whole_group ? -pid : pid, SIGTERM);
        ::waitpid(pid, &status, 0);
        break;
      }
      ::usleep(20'000);
    }
    collect();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// The report spelled out: every figure of every record.
  json spelled_out(const std::string& report) {
    const std::string said = out, complained = err;
    EXPECT_EQ(run("render '" + report + "' --json spelled_out.json"), 0) << err;
    out = said;
    err = complained;
    return json::parse(read_file(folder / "spelled_out.json"));
  }
  void expect_one_line_complaint() const {
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_EQ(out, "");
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  std::string out, err;
};

}  // namespace flashproof
