// flashproof-cli: the command line. The launcher ./flashproof builds this program and hands its arguments over.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>

#include "reference/problem/error.h"
#include "reports/exit_codes.h"
#include "reports/options.h"
#include "reports/text.h"

namespace flashproof {
namespace {

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Numerical analysis and fuzz testing of online softmax, LSE merge and flash attention kernels.",
               "flashproof"};
  app.require_subcommand(1);
  Options o;
  std::function<int()> command;
  for (int i = 0; i < argc; ++i) o.sweep.command_line += (i == 0 ? "flashproof" : " " + one_line(argv[i]));
  add_commands(app, o, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    throw UsageError(std::string(e.what()) + " (see --help)");
  }
  return command();
}

/// A descriptor that is closed would be given to the next file opened, and messages would go into it.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);  // takes the lowest free one: fd
  }
}

int flush_stdout(int code) {
  errno = 0;
  const bool before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !before) return code;
  if (errno == 0) {  // an earlier write failed, and nobody kept its reason: the next one fails for the same
    std::clearerr(stdout);
    if (std::fputc('\n', stdout) != EOF) std::fflush(stdout);
  }
  throw InfrastructureError(errno != 0 ? fmt::format("stdout: cannot be written: {}", std::strerror(errno))
                                       : "stdout: cannot be written");
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  using namespace flashproof;
  open_standard_descriptors();
  const auto complain = [](const char* what) { std::fprintf(stderr, "flashproof: %s\n", one_line(what).c_str()); };
  try {
    return flush_stdout(parse_and_run(argc, argv));
  } catch (const UsageError& e) {
    complain(e.what());
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return kExitInfrastructure;
}
