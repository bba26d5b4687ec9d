// What a parent of processes needs, whichever processes they are: children that end with it, how a child ended, and the
// signals that ask it to stop.
#pragma once

#include <sys/types.h>

#include <string>

namespace flashproof {

/// In a child right after fork(): it is killed when `parent` (its pid, asked before the fork) ends, however that ends.
/// Holds across exec.
void die_with_parent(pid_t parent);

/// Of a wait status: "was killed by signal 11 (Segmentation fault)", "exited with code 3".
std::string describe_status(int status);

/// In a child: the signals that ask the whole process group to stop leave it alone. Its parent decides what becomes of it.
void ignore_stop_signals();

/// Installs handlers for SIGINT and SIGTERM after which stop_requested() is true.
void stop_on_signals();
bool stop_requested();

/// Number of cores this process may use, at least 1.
int default_jobs();

}  // namespace flashproof
