// mma and ldmatrix of the executor: fragments against the PTX manual's formulas, numbers against the published algorithm
// in rationals, and what misuse says.
#include "kernels/simt/cpu/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "reference/model/attention/published_block.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof::cpu {
namespace {

using simt::Fault;
using simt::FaultKind;

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", as printed there:
//   a: groupID = %laneid >> 2, threadID_in_group = %laneid % 4
//      row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise
//      col = (threadID_in_group * 2) + (i & 0x1) for ai where i < 4, + 8 for ai where i >= 4
//   b: row = (threadID_in_group * 2) + (i & 0x1) for bi where i < 2, + 8 for bi where i >= 2; col = groupID
//   c: row = groupID for ci where i < 2, groupID + 8 for ci where i >= 2; col = (threadID_in_group * 2) + (i & 0x1)
struct FragmentElement {
  int row, column;
};
FragmentElement a_place(int lane, int i) {
  const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
  return {(lane >> 2) + (upper ? 0 : 8), (lane % 4) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
FragmentElement b_place(int lane, int i) { return {(lane % 4) * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane >> 2}; }
FragmentElement c_place(int lane, int i) { return {(lane >> 2) + (i < 2 ? 0 : 8), (lane % 4) * 2 + (i & 1)}; }

struct Matrices {
  float a[16][16], b[16][8], c[16][8];
};

template <Format F>
__global__ void mma_kernel(const Matrices* in, float* out) {
  const int lane = static_cast<int>(threadIdx.x);
  std::uint32_t a[4], b[2];
  float d[4];
  for (int i = 0; i < 8; i += 2) {
    const FragmentElement p = a_place(lane, i);
    a[i / 2] = pack<F>(in->a[p.row][p.column], in->a[p.row][p.column + 1]);
  }
  for (int i = 0; i < 4; i += 2) {
    const FragmentElement p = b_place(lane, i);
    b[i / 2] = pack<F>(in->b[p.row][p.column], in->b[p.row + 1][p.column]);
  }
  for (int i = 0; i < 4; ++i) d[i] = in->c[c_place(lane, i).row][c_place(lane, i).column];
  mma_m16n8k16<F>(d, a, b);
  for (int i = 0; i < 4; ++i) out[c_place(lane, i).row * 8 + c_place(lane, i).column] = d[i];
}

template <Format F>
void expect_published_algorithm(const BlockFma& unit) {
  constexpr int kTiles = 90;  // of 128 dot products, 32 of which are evaluated: 2,880
  const simt::ScopedMatrixUnit guard(unit);
  int inexact = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    Random random(static_cast<std::uint64_t>(tile), 77);
    const auto number = [&](Format format) {
      const double x = random.normal();
      const double wide = std::ldexp(x, static_cast<int>(random.integer(-12, 12)));
      return static_cast<float>(round_to(format, tile % 2 == 0 ? x : wide));
    };
    Matrices m;
    for (auto& row : m.a)
      for (float& x : row) x = number(F);
    for (auto& row : m.b)
      for (float& x : row) x = number(F);
    for (auto& row : m.c)
      for (float& x : row) x = tile % 3 == 0 ? 0 : number(Format::f32);
    std::vector<float> out(128);
    launch(mma_kernel<F>, 1, 32, 0, {}, &m, out.data());
    for (int at = tile % 4; at < 128; at += 4) {
      double expected = m.c[at / 8][at % 8], exact = expected;
      for (int first = 0; first < 16; first += unit.k) {
        std::vector<float> a, b;
        for (int k = first; k < first + unit.k; ++k) {
          a.push_back(m.a[at / 8][k]);
          b.push_back(m.b[k][at % 8]);
          exact += static_cast<double>(a.back()) * b.back();
        }
        expected = published(unit, {F, F}, static_cast<float>(expected), a, b);
      }
      ASSERT_EQ(expected, out[at]) << "tile " << tile << " element " << at;
      inexact += static_cast<float>(exact) != out[at];
    }
  }
  EXPECT_GT(inexact, 100);  // rounding to nearest would not do
}

TEST(Matrix, MmaIsHoppersUnitByDefault) {
  expect_published_algorithm<Format::f16>(simt::ScopedMatrixUnit::current());
  EXPECT_EQ(simt::ScopedMatrixUnit::current(), kHopperF16);
}
TEST(Matrix, MmaF16OnHopper) { expect_published_algorithm<Format::f16>(kHopperF16); }
TEST(Matrix, MmaBf16OnHopper) { expect_published_algorithm<Format::bf16>(kHopperF16); }
TEST(Matrix, MmaF16OnAmpere) { expect_published_algorithm<Format::f16>(kAmpereF16); }
TEST(Matrix, MmaBf16OnAmpere) { expect_published_algorithm<Format::bf16>(kAmpereF16); }
TEST(Matrix, OtherUnitsAreRefused) {
  EXPECT_THROW(simt::ScopedMatrixUnit guard(kHopperWgmmaFp8), UsageError);
  EXPECT_EQ(simt::ScopedMatrixUnit::current(), kHopperF16);
}

// Every single element of a and b on its own: 1 at one place, the other factor distinct, so that any place that two lanes
// or registers exchange shows.
TEST(Matrix, EveryElementHasThePlaceOfTheManual) {
  for (int at = 0; at < 256; ++at) {
    Matrices m{};
    m.a[at / 16][at % 16] = 1;
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 8; ++n) m.b[k][n] = static_cast<float>(1 + k * 8 + n);
    std::vector<float> out(128);
    launch(mma_kernel<Format::f16>, 1, 32, 0, {}, &m, out.data());
    for (int i = 0; i < 128; ++i) ASSERT_EQ(out[i], i / 8 == at / 16 ? 1 + at % 16 * 8 + i % 8 : 0) << at << " " << i;
  }
}

template <int kMatrices, bool kTransposed>
__global__ void ldmatrix_kernel(std::uint32_t* out) {
  FP_SHARED(std::uint16_t, tile, 32 * 8);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 8; ++i) tile[lane * 8 + i] = static_cast<std::uint16_t>(lane * 8 + i);
  __syncwarp();
  // Rows in another order than they lie: row l of the tile is row 31 - l in memory.
  const void* row = lane < 8 * kMatrices ? tile + (31 - lane) * 8 : nullptr;
  std::uint32_t r[kMatrices];
  if constexpr (kMatrices == 4 && kTransposed) ldmatrix_x4_trans(r, row);
  if constexpr (kMatrices == 4 && !kTransposed) ldmatrix_x4(r, row);
  if constexpr (kMatrices == 2 && kTransposed) ldmatrix_x2_trans(r, row);
  if constexpr (kMatrices == 2 && !kTransposed) ldmatrix_x2(r, row);
  for (int m = 0; m < kMatrices; ++m) out[lane * kMatrices + m] = r[m];
}

template <int kMatrices, bool kTransposed>
void expect_rows() {
  std::vector<std::uint32_t> out(32 * kMatrices);
  launch(ldmatrix_kernel<kMatrices, kTransposed>, 1, 32, 0, {}, out.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < kMatrices; ++m) {
      for (int i = 0; i < 2; ++i) {
        // PTX ISA, ldmatrix: thread T holds of row T / 4 the elements 2 (T % 4) and 2 (T % 4) + 1; transposed: of column.
        const int major = lane / 4, minor = lane % 4 * 2 + i;
        const int row = m * 8 + (kTransposed ? minor : major), column = kTransposed ? major : minor;
        EXPECT_EQ(out[lane * kMatrices + m] >> (16 * i) & 0xffff, static_cast<unsigned>((31 - row) * 8 + column));
      }
    }
  }
}

TEST(Matrix, LdmatrixDealsRows) {
  expect_rows<4, false>();
  expect_rows<2, false>();
}
TEST(Matrix, LdmatrixTransposedDealsColumns) {
  expect_rows<4, true>();
  expect_rows<2, true>();
}

// ---- misuse

enum class Misuse : std::uint8_t {
  none,
  half_warp,
  lane_exits,
  other_collective,
  other_format,
  other_line,
  misaligned,
  global
};

__global__ void misuse_kernel(Misuse misuse, const std::uint16_t* global) {
  FP_SHARED(std::uint16_t, tile, 33 * 8);
  const int lane = static_cast<int>(threadIdx.x);
  std::uint32_t a[4] = {}, b[2] = {};
  float d[4] = {};
  if (misuse == Misuse::lane_exits && lane == 5) return;
  if (misuse == Misuse::other_collective && lane == 5) {
    __syncwarp();
  } else if (misuse == Misuse::other_format && lane == 5) {
    mma_m16n8k16<Format::bf16>(d, a, b);
  } else if (misuse == Misuse::other_line && lane == 5) {
    mma_m16n8k16<Format::f16>(d, a, b);
  } else if (misuse == Misuse::misaligned || misuse == Misuse::global) {
    const std::uint16_t* row = misuse == Misuse::global && lane == 9 ? global : tile + lane * 8;
    ldmatrix_x4(a, row + (misuse == Misuse::misaligned && lane == 9 ? 1 : 0));
  } else {
    mma_m16n8k16<Format::f16>(d, a, b);
  }
}

void expect_fault(Misuse misuse, unsigned threads, FaultKind kind, const char* part) {
  alignas(16) const std::uint16_t global[8] = {};
  for (const char* schedule : {"fifo", "lifo", "random:3", "fifo+lazy"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    try {
      launch(misuse_kernel, 1, threads, 0, {}, misuse, static_cast<const std::uint16_t*>(global));
      ADD_FAILURE() << "no fault under " << schedule << ", expected " << part;
    } catch (const Fault& fault) {
      const std::string message = fault.what();
      EXPECT_EQ(fault.kind, kind) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_NE(message.find("matrix_test.cc:"), std::string::npos) << message;
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
    launch(misuse_kernel, 1, 64, 0, {}, Misuse::none, nullptr);  // works on
  }
}

TEST(Matrix, AWarpThatIsNotWholeFaults) {
  expect_fault(Misuse::none, 48, FaultKind::bad_argument,
               "needs a whole warp, the last one of this block has 16 lanes");
}
TEST(Matrix, AnExitedLaneFaults) {
  expect_fault(Misuse::lane_exits, 32, FaultKind::exited_lane, "the mask names exited lanes 0x00000020");
}
TEST(Matrix, DivergedLanesFault) {
  expect_fault(Misuse::other_collective, 32, FaultKind::divergent_collective, "__syncwarp");
  expect_fault(Misuse::other_format, 32, FaultKind::divergent_collective, "mma_m16n8k16<bf16>");
  expect_fault(Misuse::other_line, 32, FaultKind::divergent_collective, "mma_m16n8k16<f16>");
}
TEST(Matrix, AMisalignedRowFaults) {
  expect_fault(Misuse::misaligned, 32, FaultKind::misaligned, "ldmatrix: address is 2 bytes past a multiple of 16");
}
TEST(Matrix, ARowInGlobalMemoryFaults) {
  expect_fault(Misuse::global, 32, FaultKind::bad_argument, "not in shared memory");
}
TEST(Matrix, OutsideAKernelFaults) {
  float d[4] = {};
  const std::uint32_t a[4] = {}, b[2] = {};
  EXPECT_THROW(mma_m16n8k16<Format::f16>(d, a, b), Fault);
}

}  // namespace
}  // namespace flashproof::cpu
