#include "properties/driver/now_running.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace flashproof {
namespace {

// Written before the case runs, read by a signal handler: plain memory.
char message[8192];
std::size_t message_length = 0;
unsigned limit = 0;
std::string called;

void tell(const char* what, std::size_t length) {
  // Nothing can be done about a stderr that takes nothing.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, what, length);
  written = ::write(STDERR_FILENO, message, message_length);
}

void crashed(int signal) {
  constexpr char kWhat[] = "flashproof: the kernel crashed: ";
  tell(kWhat, sizeof kWhat - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void too_long(int) {
  constexpr char kWhat[] = "flashproof: the kernel does not come back: ";
  tell(kWhat, sizeof kWhat - 1);
  ::_exit(1);
}

}  // namespace

void tell_crashes(std::string_view program, unsigned seconds_per_case) {
  called = program;
  limit = seconds_per_case;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, crashed);
  std::signal(SIGALRM, too_long);
}

void now_running(std::string_view kernel, std::string_view law, std::string_view line) {
  if (limit == 0) return;
  const auto end =
      fmt::format_to_n(message, sizeof message, "{} {} {}\n  replay: {} --kernel {} --law {} --replay {}\n", kernel,
                       law, line, called, kernel, law, line);
  message_length = std::min(end.size, sizeof message);
  ::alarm(limit);
}

}  // namespace flashproof
