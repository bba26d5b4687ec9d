// The exit codes of the command line, for the program, its launcher and its tests.
#pragma once

namespace flashproof {

inline constexpr int kExitFine = 0;
inline constexpr int kExitFinding = 1;         // a hardened kernel failed, or nothing was tested
inline constexpr int kExitUsage = 2;           // an argument or a file is wrong
inline constexpr int kExitInfrastructure = 3;  // disk, driver, memory, a child process, an interruption
// What was asked for needs a GPU, and there is none; or nothing failed, but too little was decided to call it a pass.
inline constexpr int kExitSkipped = 4;

}  // namespace flashproof
