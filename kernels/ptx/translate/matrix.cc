// mma and ldmatrix of translated code. The unit of mma is Hopper's, bit for bit (reference/model/block_fma.h). Places of elements
// in fragments: PTX ISA, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8"; g = lane / 4, t = 2 (lane % 4).
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"
#include "reference/model/attention/block_tile.h"

namespace flashproof::ptx {
namespace {

constexpr int kHalf = 8;  // of a fragment, in rows, columns or k
constexpr int kMatrixRows = 8;

std::uint16_t half_of(std::uint32_t word, int which) { return static_cast<std::uint16_t>(word >> (16 * which)); }

/// False after a finding.
bool whole_warp(Context* context, std::uint32_t lanes, const Site& site) {
  if (lanes == kAllLanes) return true;
  context->runtime->find(
      site.line, fmt::format("a matrix instruction by a part of a warp: lanes {:#010x} are missing", ~lanes), -1);
  return false;
}

/// Registers of a and b go by (rows, then k): a[0] (g, t), a[1] (g + 8, t), a[2] (g, t + 8), a[3] (g + 8, t + 8); b[0] (t, g),
/// b[1] (t + 8, g). With 8 products the upper halves in k are zeros, which add nothing.
void fill(BlockTile& tile, int halves, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c) {
  std::memset(tile.a, 0, sizeof tile.a);
  std::memset(tile.b, 0, sizeof tile.b);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = 2 * (lane % 4);
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < halves; ++k) {
        tile.a[g][t + kHalf * k + i] = half_of(a[2 * k * kLanes + lane], i);
        tile.a[g + kHalf][t + kHalf * k + i] = half_of(a[(2 * k + 1) * kLanes + lane], i);
        tile.b[t + kHalf * k + i][g] = half_of(b[k * kLanes + lane], i);
      }
      tile.d[g][t + i] = std::bit_cast<float>(c[i * kLanes + lane]);
      tile.d[g + kHalf][t + i] = std::bit_cast<float>(c[(2 + i) * kLanes + lane]);
    }
  }
}

/// In shared memory; null after a finding.
const std::byte* row_of(const Access& access, std::uint64_t address, int lane) {
  if (access.site.space == Space::generic && address - kSharedWindow >= kWindowBytes) {
    access.runtime.find(access.site.line, fmt::format("reads a row at {:#x}, outside of shared memory", address), lane);
    return nullptr;
  }
  return access.place(address, lane);
}

}  // namespace

extern "C" void ptx_mma(Context* context, std::uint32_t lanes, const std::uint32_t* a, const std::uint32_t* b,
                        const std::uint32_t* c, std::uint32_t* d, std::uint32_t number) {
  const Site& site = context->runtime->entry->layout.sites[number];
  if (context->budget < 0 || !whole_warp(context, lanes, site)) return;
  BlockTile tile;
  fill(tile, site.count / kHalf, a, b, c);
  const bool brain = static_cast<MatrixOperation>(site.operation) == MatrixOperation::bf16;
  block_fma_tile(kHopperF16, brain ? Format::bf16 : Format::f16, tile);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = 2 * (lane % 4);
    for (int i = 0; i < 2; ++i) {
      d[i * kLanes + lane] = std::bit_cast<std::uint32_t>(tile.d[g][t + i]);
      d[(2 + i) * kLanes + lane] = std::bit_cast<std::uint32_t>(tile.d[g + kHalf][t + i]);
    }
  }
}

extern "C" void ptx_ldmatrix(Context* context, std::uint32_t lanes, const std::uint64_t* rows, std::uint32_t* out,
                             std::uint32_t number) {
  const Access access = access_of(context, number, false, 16);
  if (context->budget < 0 || !whole_warp(context, lanes, access.site)) return;
  const bool transposed = static_cast<MatrixOperation>(access.site.operation) == MatrixOperation::transposed;
  for (int m = 0; m < access.site.count; ++m) {
    std::uint16_t element[kMatrixRows][kMatrixRows];
    for (int row = 0; row < kMatrixRows; ++row) {
      const int lane = m * kMatrixRows + row;
      const std::byte* from = row_of(access, rows[lane], lane);
      if (from == nullptr) return;
      std::memcpy(element[row], from, sizeof element[row]);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const int g = lane / 4, t = 2 * (lane % 4);
      const std::uint32_t low = transposed ? element[t][g] : element[g][t];
      const std::uint32_t high = transposed ? element[t + 1][g] : element[g][t + 1];
      out[m * kLanes + lane] = low | high << 16;
    }
  }
}

}  // namespace flashproof::ptx
