// The global memory traffic of the softmax kernels: what the documents claim, what the kernels load and store on the CPU
// executor, what a GPU's counters measured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"

namespace flashproof {

/// "5MN+2M": a number of elements, M rows of N columns.
struct ElementCount {
  int mn = 0, m = 0;

  /// In units of MN.
  double in_mn(std::int64_t cols) const { return mn + static_cast<double>(m) / static_cast<double>(cols); }
};
std::string to_string(const ElementCount& count);

struct TrafficClaim {
  std::string_view algorithm;  // the kernel's id up to its form
  ElementCount reads, writes;
  std::string_view source;
};
/// By algorithm; those of kernels that are not registered do no harm.
std::span<const TrafficClaim> traffic_claims();
/// Null if there is none for this kernel.
const TrafficClaim* find_claim(std::string_view kernel);

/// What a case of the generators may have.
inline constexpr std::int64_t kMostTrafficElements = std::int64_t{1} << 21;

/// In units of MN elements. Scores, outputs and the workspace; lse, lengths and the chunk plan are left out, as the
/// claims do. One load that several threads of a block make in the same instruction of the same element is one.
struct CountedTraffic {
  double reads = 0, writes = 0;
  double distinct_reads = 0, distinct_writes = 0;  // every element once
};
/// Of softmax kernels on `rows` × `cols` normal numbers in one chunk. Throws what run() throws.
CountedTraffic count_traffic(const Kernel& kernel, Format format, std::int64_t rows, std::int64_t cols);

/// What hardware counters said, in units of MN elements.
struct MeasuredTraffic {
  std::int64_t rows = 0, cols = 0;
  double dram_reads = 0, dram_writes = 0;            // bytes at the memory / element size
  double requested_reads = 0, requested_writes = 0;  // bytes of the caches' requests / element size
};
/// From the CSV that reports/traffic/traffic_gpu.sh writes: a header line, then
/// kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write with bytes in the last four. Keys are kernel
/// ids; lines of another format than `format` are left out. Throws UsageError naming the line.
std::map<std::string, MeasuredTraffic> read_measured(const std::string& path, Format format);

/// The table, Markdown-free text for people. A kernel that does not take the shape is named below it, with its reason; the
/// only one, or all of them: UsageError.
std::string traffic_table(std::span<const Kernel* const> kernels, Format format, std::int64_t rows, std::int64_t cols,
                          const std::map<std::string, MeasuredTraffic>& measured);

}  // namespace flashproof
