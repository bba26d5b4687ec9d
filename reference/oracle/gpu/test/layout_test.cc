// The index maps of layout.h, tried on an mma that follows the PTX manual's tables: what the kernel computes tile by
// tile, without a GPU.
#include "reference/oracle/gpu/layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "reference/problem/random.h"

namespace flashproof::gpu {
namespace {

// PTX ISA, mma.m16n8k16 with .f64: row and column of element i of lane (g, t) = (lane / 4, lane % 4).
int a_row(int lane, int i) { return i % 2 == 0 ? lane / 4 : lane / 4 + 8; }
int a_column(int lane, int i) { return i / 2 * 4 + lane % 4; }
int b_row(int lane, int i) { return lane % 4 + i * 4; }
int b_column(int lane, int /*i*/) { return lane / 4; }
int c_row(int lane, int i) { return i < 2 ? lane / 4 : lane / 4 + 8; }
int c_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

struct Fragments {
  double a[kLanes][8], b[kLanes][4];
};
/// c += a·b as a warp.
void multiply_add(double (&c)[kLanes][4], const Fragments& f) {
  double a[16][16], b[16][8];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 8; ++i) a[a_row(lane, i)][a_column(lane, i)] = f.a[lane][i];
    for (int i = 0; i < 4; ++i) b[b_row(lane, i)][b_column(lane, i)] = f.b[lane][i];
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 16; ++k) c[lane][i] += a[c_row(lane, i)][k] * b[k][c_column(lane, i)];
    }
  }
}

/// Small integers: every sum is exact.
std::vector<double> draw(Random& random, int n) {
  std::vector<double> values(n);
  for (double& value : values) value = static_cast<double>(random.integer(-9, 9));
  return values;
}

TEST(Layout, OffsetsArePermutations) {
  std::vector<int> q(kQueryBlock), k(kTile), v(kTile);
  for (int c = 0; c < kDepth; ++c) {
    for (int r = 0; r < kRows; ++r) ++q.at(query_offset(r, c));
    for (int j = 0; j < kKeys; ++j) ++k.at(key_offset(j, c)), ++v.at(value_offset(j, c));
  }
  EXPECT_EQ(q, std::vector<int>(kQueryBlock, 1));
  EXPECT_EQ(k, std::vector<int>(kTile, 1));
  EXPECT_EQ(v, std::vector<int>(kTile, 1));
}

TEST(Layout, ScoresAndValuesOfOneTile) {
  Random random(1, 1);
  const auto q = draw(random, kQueryBlock), k = draw(random, kTile), v = draw(random, kTile);
  std::vector<double> q_image(kQueryBlock), k_image(kTile), v_image(kTile);
  for (int c = 0; c < kDepth; ++c) {
    for (int r = 0; r < kRows; ++r) q_image[query_offset(r, c)] = q[r * kDepth + c];
    for (int j = 0; j < kKeys; ++j) {
      k_image[key_offset(j, c)] = k[j * kDepth + c];
      v_image[value_offset(j, c)] = v[j * kDepth + c];
    }
  }
  for (int warp = 0; warp < kWarps; ++warp) {
    // As scores() in attention.cu.
    double s[kKeyGroups][kLanes][4] = {};
    for (int group = 0; group < kKeyGroups; ++group) {
      for (int step = 0; step < kSteps; ++step) {
        Fragments f;
        for (int lane = 0; lane < kLanes; ++lane) {
          for (int i = 0; i < 8; ++i) {
            f.a[lane][i] = q_image[warp * kWarpRows * kDepth + query_pair(step, i / 2, lane) + i % 2];
          }
          for (int i = 0; i < 4; ++i) f.b[lane][i] = k_image[key_pair(group, step, i / 2, lane) + i % 2];
        }
        multiply_add(s[group], f);
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 4; ++i) {
          const int r = warp * kWarpRows + c_row(lane, i), j = 8 * group + c_column(lane, i);
          double sum = 0;
          for (int c = 0; c < kDepth; ++c) sum += q[r * kDepth + c] * k[j * kDepth + c];
          ASSERT_EQ(s[group][lane][i], sum);
        }
      }
    }
    // As weigh() and values(): the scores serve as weights.
    double w[kKeySteps][kLanes][8];
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int half = 0; half < 2; ++half) {
        for (int group = 0; group < kKeyGroups; ++group) {
          for (int e = 0; e < 2; ++e) {
            w[group / 2][lane][(group % 2 * 2 + e) * 2 + half] = s[group][lane][2 * half + e];
          }
        }
      }
    }
    for (int group = 0; group < kColumnGroups; ++group) {
      double o[kLanes][4] = {};
      for (int step = 0; step < kKeySteps; ++step) {
        Fragments f;
        for (int lane = 0; lane < kLanes; ++lane) {
          for (int i = 0; i < 8; ++i) f.a[lane][i] = w[step][lane][i];
          for (int i = 0; i < 4; ++i) f.b[lane][i] = v_image[value_pair(step, group, i / 2, lane) + i % 2];
        }
        multiply_add(o, f);
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 4; ++i) {
          const int r = warp * kWarpRows + c_row(lane, i), column = 8 * group + c_column(lane, i);
          double sum = 0;
          for (int j = 0; j < kKeys; ++j) {
            double score = 0;
            for (int c = 0; c < kDepth; ++c) score += q[r * kDepth + c] * k[j * kDepth + c];
            sum += score * v[j * kDepth + column];
          }
          ASSERT_EQ(o[lane][i], sum);
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashproof::gpu
