// One launch of a translated entry: what it is given, what it finds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/ptx/translate/translate.h"

namespace flashproof::ptx {

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return static_cast<std::uint64_t>(x) * y * z; }
};

inline constexpr std::array<std::uint32_t, 3> kMostBlocks = {2147483647, 65535, 65535};  // of a grid, as CUDA has them
inline constexpr std::array<std::uint32_t, 3> kMostThreads = {1024, 1024, 64};           // of a block, by axis

/// Host memory that the kernel may touch; nothing else can be read or written.
struct Array {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  bool writable = true;
  std::string name;  // in findings
};

struct Launch {
  Dim grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;  // laid out as the entry declares them; pointers are host addresses
  std::span<const Array> arrays;
  std::int64_t max_instructions = 100'000'000'000;  // of all threads together; a launch beyond it ends with a finding
  bool last_first = false;  // blocks and warps from the last to the first: an order that CUDA allows as well
  bool finds_races = true;
  /// What an address in none of the arrays is, for the finding: "memory of the host". Null, or an empty text: nothing is known.
  std::function<std::string(std::uint64_t address)> foreign = nullptr;
  /// Null, or asked every kAskedEvery instructions; true ends the launch.
  std::function<bool()> is_interrupted = nullptr;
};

inline constexpr std::int64_t kAskedEvery = 50'000'000;  // some tenth of a second

/// What CUDA has errors of their own for, and races.
enum class FindingKind : std::uint8_t { other, address, alignment, assertion, race };

struct Finding {
  std::string text;  // "FILE:LINE: what, in block (0, 0, 0), thread 3"
  int line = 0;
  FindingKind kind = FindingKind::other;
};

struct LaunchResult {
  bool completed = false;          // false: a finding ended it; what arrays hold is then not the kernel's result
  std::uint64_t instructions = 0;  // of all threads; 0 if not completed
  std::vector<Finding> findings;   // at most one per line of the file, and 16
  std::string printed;  // by printf of device code; legible, at most kMaxPrinted bytes and a line about the rest
};

inline constexpr std::size_t kMaxFindings = 16;
inline constexpr std::size_t kMaxPrinted =
    1 << 20;  // as much as a GPU keeps unless told otherwise (cudaLimitPrintfFifoSize)

/// Runs the grid to its end, block after block. `variables`: the module's global and constant variables, which outlive the launch.
/// Throws UsageError for a launch that CUDA would refuse: sizes, parameters, memory; Interrupted where is_interrupted() says so.
LaunchResult launch(const Translation& entry, const BlockFunction* blocks, std::span<std::byte> variables,
                    std::span<const Array> variable_ranges, const Launch& wanted);

}  // namespace flashproof::ptx
