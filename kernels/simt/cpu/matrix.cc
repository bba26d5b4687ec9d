// ldmatrix and mma: the lane that arrives last does the work of all, on the operands that the others' stacks hold.
#include <bit>
#include <cstring>

#include "kernels/simt/block.h"
#include "kernels/simt/cpu/cpu_matrix.h"
#include "kernels/simt/cpu/cpu_memory.h"
#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/shadow/shadow.h"
#include "reference/model/attention/block_tile.h"

namespace flashproof::simt {
namespace {

constexpr int kGroup = 4;       // lanes that share a row of a fragment
constexpr int kHalf = 8;        // of a fragment, in rows, columns or k
constexpr int kMatrixRows = 8;  // of ldmatrix, 16 bytes each
constexpr std::size_t kRowBytes = 16;

template <class T>
const T& operands(const Thread& lane) {
  return *std::bit_cast<const T*>(lane.deposit);
}

std::uint16_t half_of(std::uint32_t word, int which) { return static_cast<std::uint16_t>(word >> (16 * which)); }

void run_mma(Format format, const Thread* lanes) {
  BlockTile tile;
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    const auto& mine = operands<MmaOperands>(lanes[lane]);
    const int g = lane / kGroup, t = 2 * (lane % kGroup);
    for (int i = 0; i < 2; ++i) {
      tile.a[g][t + i] = half_of(mine.a[0], i);
      tile.a[g + kHalf][t + i] = half_of(mine.a[1], i);
      tile.a[g][t + kHalf + i] = half_of(mine.a[2], i);
      tile.a[g + kHalf][t + kHalf + i] = half_of(mine.a[3], i);
      tile.b[t + i][g] = half_of(mine.b[0], i);
      tile.b[t + kHalf + i][g] = half_of(mine.b[1], i);
      tile.d[g][t + i] = mine.d[i];
      tile.d[g + kHalf][t + i] = mine.d[2 + i];
    }
  }
  block_fma_tile(ScopedMatrixUnit::current(), format, tile);
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    float* const d = operands<MmaOperands>(lanes[lane]).d;
    const int g = lane / kGroup, t = 2 * (lane % kGroup);
    for (int i = 0; i < 2; ++i) {
      d[i] = tile.d[g][t + i];
      d[2 + i] = tile.d[g + kHalf][t + i];
    }
  }
}

void run_ldmatrix(int matrices, bool transposed, const Thread* lanes) {
  for (int m = 0; m < matrices; ++m) {
    std::uint16_t element[kMatrixRows][kMatrixRows];
    for (int row = 0; row < kMatrixRows; ++row) {
      std::memcpy(element[row], operands<MatrixRows>(lanes[m * kMatrixRows + row]).row, kRowBytes);
    }
    for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
      const int g = lane / kGroup, t = 2 * (lane % kGroup);
      const std::uint32_t low = transposed ? element[t][g] : element[g][t];
      const std::uint32_t high = transposed ? element[t + 1][g] : element[g][t + 1];
      operands<MatrixRows>(lanes[lane]).r[m] = low | high << 16;
    }
  }
}

int matrices_of(Collective kind) {
  return kind == Collective::ldmatrix_x2 || kind == Collective::ldmatrix_x2_trans ? 2 : 4;
}

}  // namespace

void run_matrix(Collective kind, Thread* lanes) {
  switch (kind) {
    case Collective::mma_f16:
      return run_mma(Format::f16, lanes);
    case Collective::mma_bf16:
      return run_mma(Format::bf16, lanes);
    default:
      return run_ldmatrix(matrices_of(kind),
                          kind == Collective::ldmatrix_x2_trans || kind == Collective::ldmatrix_x4_trans, lanes);
  }
}

void load_matrices(Collective kind, std::uint32_t* r, const void* row, const char* file, int line) {
  const Thread& self = running_thread_at("ldmatrix", file, line);
  if (static_cast<int>(self.number % kLanes) < matrices_of(kind) * kMatrixRows) {
    check_aligned_16(row, "ldmatrix", file, line);
    if (!is_shared(row, kRowBytes)) {
      throw make_fault(FaultKind::bad_argument, self.site,
                       "the row is not in shared memory of this block (" + describe(self) + ")");
    }
    shadow_read(row, kRowBytes);
  }
  MatrixRows operands{r, row};
  warp_matrix(kind, &operands, file, line);
}

}  // namespace flashproof::simt
