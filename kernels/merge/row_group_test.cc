// The groups of every width of a merge. Evaluated at compile time, where undefined behaviour (std::clamp of low > high, of
// narrow rows) is an error.
#include "kernels/merge/row_group.h"

#include <gtest/gtest.h>

namespace flashproof::FP_EXECUTOR {
namespace {

constexpr MergeArgs shape(int rows, int dv) {
  MergeArgs a{};
  a.rows = rows;
  a.dv = dv;
  return a;
}

/// Rows and lanes in range, lanes as many as the row has pieces of 16 bytes, up to 32.
template <Format F>
constexpr bool holds(int rows, int dv, std::int64_t floats_per_row) {
  const RowGroup g = row_group<F>(shape(rows, dv), floats_per_row);
  const bool lanes = g.lanes >= 1 && g.lanes <= 32 && (g.lanes == 32 || g.lanes * kPieceElements<F> >= dv) &&
                     (g.lanes == 1 || g.lanes / 2 * kPieceElements<F> < dv);
  return lanes && g.rows >= 1 && g.rows <= kMergeThreads && (g.rows == 1 || g.rows * floats_per_row <= 4096);
}

template <Format F>
constexpr bool all_hold() {
  for (const int dv : {1, 2, 4, 5, 8, 9, 16, 32, 64, 128, 129, 256, 512}) {
    for (const int rows : {1, 2047, 2048, 65536, 1 << 20}) {
      for (const std::int64_t floats : {1, 2, 128, 4096, 4097}) {
        if (!holds<F>(rows, dv, floats)) {
          return false;
        }
      }
    }
  }
  return true;
}

static_assert(all_hold<Format::f32>());
static_assert(all_hold<Format::f16>());
static_assert(all_hold<Format::bf16>());

TEST(RowGroup, narrow_rows_share_a_block_and_wide_ones_of_a_long_merge_fill_it) {
  EXPECT_EQ(row_group<Format::f32>(shape(100, 1), 2).rows, 32);
  EXPECT_EQ(row_group<Format::f32>(shape(100, 128), 2).rows, 4);
  EXPECT_EQ(row_group<Format::f32>(shape(1 << 20, 128), 2).rows, 32);
  EXPECT_EQ(row_group<Format::f32>(shape(1 << 20, 128), 1024).rows, 4);
}

}  // namespace
}  // namespace flashproof::FP_EXECUTOR
