#include "reference/system/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/process.h"

namespace flashproof {
namespace {

constexpr int kNoProgram = 127;  // as a shell has it

[[noreturn]] void become(const CommandLine& command, int output, int errors) {
  if (!command.folder.empty() && ::chdir(command.folder.c_str()) != 0) ::_exit(kNoProgram);
  for (const auto& [name, value] : command.environment) {
    if (value) ::setenv(name.c_str(), value->c_str(), 1);
    if (!value) ::unsetenv(name.c_str());
  }
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  std::vector<char*> words;
  words.reserve(command.words.size() + 1);
  // execvp takes what it does not change as not constant.
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(kNoProgram);
}

/// `stops`: what ends us ends it, too.
int run(const CommandLine& command, int output, int errors, bool stops) {
  std::fflush(nullptr);  // what we said comes before what it says
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw InfrastructureError(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::setpgid(0, 0);  // what it starts is ended with it
    die_with_parent(parent);
    become(command, output, errors);
  }
  ::setpgid(child, child);
  constexpr int kGrace = 5000;  // ticks of 2 ms between being asked to end and being ended
  int status = 0, asked = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) throw InfrastructureError(fmt::format("waitpid: {}", std::strerror(errno)));
    if (stops && stop_requested()) {
      if (asked == 0) ::kill(-child, SIGTERM);
      if (asked > kGrace) ::kill(-child, SIGKILL);
      ++asked;
    }
    ::usleep(2000);
  }
  if (stops && stop_requested()) throw InfrastructureError("interrupted");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The file, emptied; for none a second descriptor of ours.
Descriptor open_output(const std::filesystem::path& file, int ours) {
  Descriptor opened(file.empty() ? ::fcntl(ours, F_DUPFD_CLOEXEC, 3)
                                 : ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!opened) throw InfrastructureError(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  return opened;
}

}  // namespace

int run_command(const CommandLine& command) {
  const Descriptor output = open_output(command.output, STDOUT_FILENO);
  const bool same = !command.errors.empty() && command.errors == command.output;
  const Descriptor errors = same ? Descriptor() : open_output(command.errors, STDERR_FILENO);
  return run(command, output.get(), same ? output.get() : errors.get(), true);
}

std::optional<std::string> output_of(const CommandLine& command) {
  // Memory and no pipe: what it leaves behind may hold a pipe open for ever.
  const Descriptor output(::memfd_create("output", MFD_CLOEXEC)), errors(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!output || !errors) throw InfrastructureError(fmt::format("memfd_create: {}", std::strerror(errno)));
  if (run(command, output.get(), errors.get(), false) != 0) return std::nullopt;
  std::string text;
  char part[65536];
  ssize_t n = 0;
  while ((n = ::pread(output.get(), part, sizeof part, static_cast<off_t>(text.size()))) > 0) {
    text.append(part, static_cast<std::size_t>(n));
  }
  text.resize(text.find_last_not_of('\n') + 1);  // npos + 1 is 0
  return text;
}

}  // namespace flashproof
