// The two errors that reach a user. Both carry one clear line; nothing is printed where they are thrown.
#pragma once

#include <stdexcept>
#include <string>

namespace flashproof {

/// Something from outside (a file, an option, a shape) is wrong. The message names the argument and the legal
/// range. Command line: exit 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The machine failed us (disk, driver, memory, a child process). Command line: exit 3.
struct InfrastructureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The user has ended the run (Ctrl-C): what was running is no finding, and what there is until then is kept.
struct Interrupted : InfrastructureError {
  using InfrastructureError::InfrastructureError;
};

}  // namespace flashproof
