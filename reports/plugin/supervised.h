// A run of a foreign library under the eyes of a parent: whatever stops or ends the process that counts verdicts, the command ends, and
// says so.
#pragma once

#include <functional>

namespace flashproof {

/// Runs `body` in a child, in a session of its own, and returns its exit code; so does the child itself, what it throws included.
///
/// INT, TERM, HUP and QUIT are passed on. A TSTP, as Ctrl-Z sends it, stops this process and the child; both go on with the CONT that
/// follows. It stops no process that the child has started: workers and libraries go on to the end of what they were given, and wait
/// there for the child. No terminal reaches the child, so any other stop of it is a library's: the child is asked to end as by TERM, which keeps
/// what it has counted, and is killed after 10 s.
///
/// Every process that the child leaves behind, whichever way it ended, is killed before this returns or throws.
///
/// Throws InfrastructureError where the child was stopped so, or killed by a signal that was not passed on; ends by the signal that was.
int supervised(const std::function<int()>& body);

}  // namespace flashproof
