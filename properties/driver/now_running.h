// What is said when a kernel takes the test program down with it, or does not come back.
#pragma once

#include <string_view>

namespace flashproof {

/// From here on this is what runs; `line`: of the case. A crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) is told on stderr with
/// the command that runs the case again, and goes on as the signal that it is. A case that takes longer than the limit is told the
/// same way, and ends the program with exit code 1: a finding.
void now_running(std::string_view kernel, std::string_view law, std::string_view line);

/// Before the first case; `program` as in replay_line(). Without this nothing is told.
void tell_crashes(std::string_view program, unsigned seconds_per_case);

}  // namespace flashproof
