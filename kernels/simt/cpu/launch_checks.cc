#include "kernels/simt/cpu/launch_checks.h"

#include <fmt/format.h>

#include "kernels/simt/block.h"
#include "reference/system/error.h"

namespace flashproof::simt {
namespace {

std::string text(dim3 size) { return fmt::format("({}, {}, {})", size.x, size.y, size.z); }

}  // namespace

void refuse_launch(const Grid& grid, const std::string& what) {
  throw Fault(FaultKind::bad_launch, fmt::format("{}:{}: bad launch: {}", grid.file, grid.line, what));
}

void check_launch(const Grid& grid, dim3 block_size, std::size_t dynamic_shared_bytes) {
  const dim3 b = block_size;
  // Each factor is checked before the product, which then cannot overflow.
  if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > 1024 || b.y > 1024 || b.z > 64 || b.x * b.y * b.z > kMaxThreads) {
    refuse_launch(grid, fmt::format("block {}; legal are 1 to 1024 threads, z at most 64", text(b)));
  }
  if (grid.size.x > 2147483647u || grid.size.y > 65535u || grid.size.z > 65535u) {
    refuse_launch(grid, fmt::format("grid {}; legal are x up to 2147483647, y and z up to 65535", text(grid.size)));
  }
  if (dynamic_shared_bytes > kMaxDynamicSharedBytes) {
    refuse_launch(grid, fmt::format("{} bytes of dynamic shared memory; legal are 0 to {}", dynamic_shared_bytes,
                                    kMaxDynamicSharedBytes));
  }
}

void check_rounding(unsigned mxcsr) {
  constexpr unsigned kRounding = 0x6000, kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  if ((mxcsr & kRounding) != 0) throw InfrastructureError("executor: the rounding mode is not to nearest (MXCSR)");
  if ((mxcsr & (kFlushToZero | kDenormalsAreZero)) != 0) {
    throw InfrastructureError("executor: subnormals are flushed to zero (MXCSR FTZ or DAZ is set)");
  }
}

}  // namespace flashproof::simt
