// What every command-line program of this project does around its work.
#pragma once

#include <functional>

namespace flashproof {

/// Runs `body` and returns the exit code: its own, or that of the error it throws, which stderr gets as one line behind
/// "flashproof: ". A standard descriptor that is closed is opened first, to nowhere; a stdout that cannot be written is an
/// infrastructure failure. Memory that is freed stays with the process, for the next case.
int run_program(const std::function<int()>& body);

}  // namespace flashproof
