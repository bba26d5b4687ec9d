// flashproof-traffic-driver KERNEL FORMAT ROWS COLS: one run of a softmax kernel on the GPU, for a profiler to look at
// (reports/traffic/traffic_gpu.sh). Nothing is checked: that is `report`'s work.
#include <cstdio>
#include <exception>
#include <string>

#include "kernels/run/run.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 28;

int drive(const std::string& id, const std::string& format_name, const std::string& rows_text,
          const std::string& cols_text) {
  const Kernel* const kernel = find_kernel(id);
  const auto format = parse_format(format_name);
  const auto rows = parse_u64(rows_text);
  const auto cols = parse_u64(cols_text);
  if (kernel == nullptr || kernel->problem != ProblemKind::softmax) throw UsageError(quote(id) + ": no softmax kernel");
  if (!format) throw UsageError(quote(format_name) + ": no format");
  if (!rows || !cols || *rows < 1 || *cols < 1 || *rows > kMostElements / *cols) {
    throw UsageError("rows " + quote(rows_text) + ", cols " + quote(cols_text) + ": at least 1, at most 2^28 elements");
  }
  std::string why;
  if (cuda_devices(&why) == 0) {
    std::fprintf(stderr, "flashproof: skipped: no GPU (%s)\n", why.c_str());
    return kExitSkipped;
  }
  SoftmaxProblem problem;
  const auto columns = static_cast<std::int64_t>(*cols);
  problem.x = Tensor::dense(*format, {static_cast<std::int64_t>(*rows), columns});
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < problem.x.elements(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;                             // Knuth's MMIX generator
    problem.x.set_bits(i, encode(*format, static_cast<double>(state >> 40) * 0x1p-22 - 2));  // -2 … 2
  }
  problem.plan = ChunkPlan::uniform(columns, 1024);  // the block of seed 001
  run(*kernel, problem, {.executor = Executor::cuda});
  return kExitFine;
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  using namespace flashproof;
  try {
    if (argc != 5) throw UsageError("usage: flashproof-traffic-driver KERNEL FORMAT ROWS COLS");
    return drive(argv[1], argv[2], argv[3], argv[4]);
  } catch (const UsageError& e) {
    std::fprintf(stderr, "flashproof: %s\n", e.what());
    return kExitUsage;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "flashproof: %s\n", e.what());
    return kExitInfrastructure;
  }
}
