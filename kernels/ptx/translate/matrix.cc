// mma, ldmatrix and stmatrix of translated code. The unit of mma is Hopper's, bit for bit (reference/model/block_fma.h). Places of elements
// in fragments: PTX ISA, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8"; g = lane / 4, t = 2 (lane % 4).
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/matrix.h"
#include "reference/model/attention/block_tile.h"
#include "reference/model/block_fma.h"

namespace flashproof::ptx {
namespace {

constexpr int kHalf = 8;  // of a fragment, in rows, columns or k
constexpr int kMatrixRows = 8;
constexpr std::uint32_t kQuietNan = 0x7fffffff;

std::uint16_t half_of(std::uint32_t word, int which) { return static_cast<std::uint16_t>(word >> (16 * which)); }

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

/// The factors of one element's sum: of row `row` of a, or column `row` of b, `fragment` its registers of that row from small k to
/// large. A register has the numbers of neighbours in k, and the four lanes of a group have neighbouring registers ("Matrix
/// fragments for mma.m16n8k8" of tf32, "for mma.m16n8k32" of 8 bits).
void factors_of(MatrixOperation type, const std::uint32_t* const (&fragment)[2], int group, float* factors) {
  const int packed = type == MatrixOperation::tf32 ? 1 : 4;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4 * packed; ++i) {
      const std::uint32_t word = fragment[half][4 * group + i / packed];
      factors[half * 4 * packed + i] =
          type == MatrixOperation::tf32
              ? cut_to_tf32(std::bit_cast<float>(word))
              : static_cast<float>(decode(type == MatrixOperation::e4m3 ? Format::e4m3fn : Format::e5m2,
                                          word >> (8 * (i % packed)) & 255));
    }
  }
}

/// The sum as sm_90 has it. Of 8 bits wgmma has a unit of its own, and mma two steps of the unit of f16, which begin with 0, first k = 0 1
/// 4 5 8 9 ..., then the rest; c is added last, in f32. (kernels/probe/README.md; 200,000 random steps of each type on an H200:
/// reference/bound/profiles.)
float sum_of(MatrixUnit unit, MatrixOperation type, const float* a, const float* b, float c) {
  if (type == MatrixOperation::tf32) return block_fma(kHopperTf32, {Format::f32, Format::f32}, c, a, b, 8);
  if (unit == MatrixUnit::warpgroup) {
    const Format format = type == MatrixOperation::e4m3 ? Format::e4m3fn : Format::e5m2;
    return block_fma(kHopperWgmmaFp8, {format, format}, c, a, b, 32);
  }
  float sum = 0;
  for (int step = 0; step < 2; ++step) {
    float x[16], y[16];
    for (int i = 0; i < 16; ++i) {
      const int k = 4 * (i / 2) + 2 * step + i % 2;
      x[i] = a[k];
      y[i] = b[k];
    }
    sum = block_fma(kHopperF16, {Format::f16, Format::f16}, sum, x, y, 16);
  }
  return c + sum;
}

/// Registers of a: (g, low k), (g + 8, low k), (g, high k), (g + 8, high k); of b: low k, high k.
void multiply(MatrixUnit unit, MatrixOperation type, const std::uint32_t* a, const std::uint32_t* b,
              const std::uint32_t* c, std::uint32_t* d) {
  float columns[8][32];
  for (int column = 0; column < 8; ++column) factors_of(type, {b, b + kLanes}, column, columns[column]);
  for (int row = 0; row < 16; ++row) {
    const int lower = row / kHalf;
    float x[32];
    factors_of(type, {a + lower * kLanes, a + (2 + lower) * kLanes}, row % kHalf, x);
    for (int column = 0; column < 8; ++column) {
      const int at = (2 * lower + column % 2) * kLanes + 4 * (row % kHalf) + column / 2;
      const float sum = sum_of(unit, type, x, columns[column], std::bit_cast<float>(c[at]));
      d[at] = std::isnan(sum) ? kQuietNan : std::bit_cast<std::uint32_t>(sum);
    }
  }
}

/// Those that bring the address of a row.
std::uint32_t lanes_of(const Site& site) {
  return site.count == 4 ? kAllLanes : (1U << (kMatrixRows * site.count)) - 1;
}

/// In shared memory; null after a finding.
std::byte* row_of(const Access& access, std::uint64_t address, int lane) {
  if (access.site.space == Space::generic && address - kSharedWindow >= kWindowBytes) {
    access.runtime.find(
        access.site.line,
        fmt::format("{} a row at {:#x}, outside of shared memory", access.write ? "writes" : "reads", address), lane);
    return nullptr;
  }
  return access.place(address, lane);
}

}  // namespace

bool whole_warp(Context* context, std::uint32_t lanes, const Site& site) {
  if (lanes == kAllLanes) return true;
  context->runtime->find(
      site.line, fmt::format("a matrix instruction by a part of a warp: lanes {:#010x} are missing", ~lanes), -1);
  return false;
}

void multiply_fragments(MatrixUnit unit, MatrixOperation type, int halves, const std::uint32_t* a,
                        const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
  if (type != MatrixOperation::f16 && type != MatrixOperation::bf16) return multiply(unit, type, a, b, c, d);
  BlockTile tile;
  fill(tile, halves, a, b, c);
  block_fma_tile(kHopperF16, type == MatrixOperation::bf16 ? Format::bf16 : Format::f16, tile);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = 2 * (lane % 4);
    for (int i = 0; i < 2; ++i) {
      d[i * kLanes + lane] = std::bit_cast<std::uint32_t>(tile.d[g][t + i]);
      d[(2 + i) * kLanes + lane] = std::bit_cast<std::uint32_t>(tile.d[g + kHalf][t + i]);
    }
  }
}

extern "C" void ptx_mma(Context* context, std::uint32_t lanes, const std::uint32_t* a, const std::uint32_t* b,
                        const std::uint32_t* c, std::uint32_t* d, std::uint32_t number) {
  const Site& site = context->runtime->entry->layout.sites[number];
  if (context->budget < 0 || !whole_warp(context, lanes, site)) return;
  const auto type = static_cast<MatrixOperation>(site.operation);
  multiply_fragments(MatrixUnit::warp, type, site.count / kHalf, a, b, c, d);
}

extern "C" void ptx_ldmatrix(Context* context, std::uint32_t lanes, const std::uint64_t* rows, std::uint32_t* out,
                             std::uint32_t number) {
  const Access access = access_of(context, number, false, 16);
  if (context->budget < 0 || !whole_warp(context, lanes, access.site)) return;
  access.watch(lanes_of(access.site), rows, Touch::read);
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

extern "C" void ptx_stmatrix(Context* context, std::uint32_t lanes, const std::uint64_t* rows, const std::uint32_t* in,
                             std::uint32_t number) {
  const Access access = access_of(context, number, true, 16);
  if (context->budget < 0 || !whole_warp(context, lanes, access.site)) return;
  access.watch(lanes_of(access.site), rows, Touch::write);
  const bool transposed = static_cast<MatrixOperation>(access.site.operation) == MatrixOperation::transposed;
  for (int m = 0; m < access.site.count; ++m) {
    std::uint16_t element[kMatrixRows][kMatrixRows];
    for (int lane = 0; lane < kLanes; ++lane) {
      const int g = lane / 4, t = 2 * (lane % 4);
      for (int i = 0; i < 2; ++i)
        (transposed ? element[t + i][g] : element[g][t + i]) = half_of(in[m * kLanes + lane], i);
    }
    for (int row = 0; row < kMatrixRows; ++row) {
      const int lane = m * kMatrixRows + row;
      std::byte* to = row_of(access, rows[lane], lane);
      if (to == nullptr) return;
      std::memcpy(to, element[row], sizeof element[row]);
    }
  }
}

}  // namespace flashproof::ptx
