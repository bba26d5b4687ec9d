// What one warp does with one tile: scores, weights with their part of the radius, W V. Fragments as in layout.h; the 4
// lanes 4 g .. 4 g + 3 share the rows g and g + 8. For attention.cu only.
#pragma once

#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/gpu/attention.h"
#include "reference/oracle/gpu/mma.h"

namespace flashproof::gpu {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr double kU = 0x1p-53;

// Constants of README.md.
inline constexpr double kHidden = 0x1p880;           // |q·k| of a hidden key: 2^731 <= |scale|·kHidden <= 2^1008
inline constexpr double kLowest = -700;              // weights below e^kLowest are taken for 0
inline constexpr double kRise = 8;                   // m follows the largest score when that is e^8 above
inline constexpr double kLargestReference = 0x1p49;  // then u|m| <= 1/16, and some weight is >= e^(-1/16)
inline constexpr double kLargestScoreError = 0x1p-10;
inline constexpr double kFirstOrder = 1 + 0x1p-9;  // e + e² <= kFirstOrder·e for e <= 2^-10 + 707 u
inline constexpr double kExpTerm = 2 * kU;
inline constexpr double kRescaleTerm = 6;  // times u: exp, its argument's second order, two products, one spare

/// The high words of doubles, read as floats, are ordered as the doubles are. (From 2^1017 on they would read as NaN; no
/// double here is as large.)
__device__ inline float high_word(double x) { return __int_as_float(__double2hiint(x)); }

/// The running sums of one row, as far as this lane has seen its columns; the 4 lanes of a row have the same m.
struct Row {
  double m, l, r, rv;
};
__device__ inline void load_pairs(double (&to)[4], const double* from, int lane) {
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    const double2 value = *reinterpret_cast<const double2*>(from + (pair * kLanes + lane) * 2);
    to[2 * pair] = value.x, to[2 * pair + 1] = value.y;
  }
}

/// s = Q Kᵀ for the warp's 16 rows and the tile's 32 keys.
__device__ inline void scores(double (&s)[kKeyGroups][4], const double* q, const double* k, int lane) {
#pragma unroll
  for (int group = 0; group < kKeyGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[group][i] = 0;
  }
#pragma unroll 2  // more would spill
  for (int step = 0; step < kSteps; ++step) {
    double a[8];
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const double2 value = *reinterpret_cast<const double2*>(q + query_pair(step, pair, lane));
      a[2 * pair] = value.x, a[2 * pair + 1] = value.y;
    }
#pragma unroll
    for (int group = 0; group < kKeyGroups; ++group) {
      double b[4];
      load_pairs(b, k + key_pair(group, step, 0, 0), lane);
      multiply_add(s[group], a, b);
    }
  }
}

/// The largest score has risen e^8 above m, or there was no m: m becomes the largest score so far, and all sums are
/// multiplied by e^(old − new). The factor's error goes into r and rv.
__device__ inline void follow(Row (&rows)[2], double (&o)[kColumnGroups][4], const double (&s)[kKeyGroups][4],
                              double scale, double h_n_u, double* pending, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
    double largest = -0x1p1020;
#pragma unroll
    for (int group = 0; group < kKeyGroups; ++group) {
#pragma unroll
      for (int e = 0; e < 2; ++e) largest = fmax(largest, __dmul_rn(scale, s[group][2 * half + e]));
    }
    largest = fmax(largest, __shfl_xor_sync(kAllLanes, largest, 1));
    largest = fmax(largest, __shfl_xor_sync(kAllLanes, largest, 2));
    double factor = 1;
    const double step = __dsub_rn(row.m, largest);
    if (step < -kRise) {
      factor = step >= kLowest ? proven_exp(step) : 0.0;
      const double error = fmin(-step, -kLowest) + kRescaleTerm;
      row.r = factor * fma(kU * error, row.l, row.r);
      row.rv = factor * fma(kU * error / h_n_u, row.rv, row.rv);
      row.l = __dmul_rn(row.l, factor);
      if (lane % 4 == 0) pending[8 * half] = __dmul_rn(pending[8 * half], factor);
      row.m = largest;
      if (fabs(largest) > kLargestReference) row.r = __longlong_as_double(0x7ff0000000000000LL);
    }
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
      for (int e = 0; e < 2; ++e) o[group][2 * half + e] = __dmul_rn(o[group][2 * half + e], factor);
    }
  }
}

/// e^x, or 0 below kLowest. Without a branch, which the compiler would make of `?:`.
__device__ inline double weight_of(double x) {
  double weight;
  asm("{\n.reg .pred p;\nsetp.gt.f32 p, %1, %2;\nselp.f64 %0, %3, 0d0000000000000000, p;\n}"
      : "=d"(weight)
      : "f"(high_word(x)), "f"(high_word(kLowest)), "d"(proven_exp(x)));
  return weight;
}

/// Weights of 32 keys, in the order in which W V takes them, and their part of the sums.
__device__ inline void weigh(double (&w)[kKeySteps][8], const double (&s)[kKeyGroups][4], Row (&rows)[2], double scale,
                             double h_n_u, const RowTerms* terms, const TileBounds& tile) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
    double sum = 0, arguments = 0;
#pragma unroll
    for (int group = 0; group < kKeyGroups; ++group) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const double x = __fma_rn(scale, s[group][2 * half + e], -row.m);
        const double weight = weight_of(x);
        sum = __dadd_rn(sum, weight);
        arguments = fma(weight, fabs(x), arguments);
        w[group / 2][(group % 2 * 2 + e) * 2 + half] = weight;
      }
    }
    row.l = __dadd_rn(row.l, sum);
    // e_j = score_error + u|x_j|, rho_j = kFirstOrder·e_j w_j + 2 u w_j.
    const RowTerms of_row = terms[8 * half];
    const double score_error = of_row.quanta * tile.quanta < 0x1p53 ? 0.0 : of_row.score * tile.norm;
    double rho = fma(fma(kFirstOrder, score_error, kExpTerm), sum, kU * kFirstOrder * arguments);
    if (!(score_error <= kLargestScoreError)) rho = __longlong_as_double(0x7ff0000000000000LL);
    row.r += rho;
    row.rv = fma(fma(h_n_u, sum, rho), tile.value, row.rv);
  }
}

/// o += W V, or W |V|.
__device__ inline void values(double (&o)[kColumnGroups][4], const double (&w)[kKeySteps][8], const double* v, int keep,
                              int lane) {
#pragma unroll
  for (int step = 0; step < kKeySteps; ++step) {
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
      double b[4];
      load_pairs(b, v + value_pair(step, group, 0, 0), lane);
#pragma unroll
      for (double& x : b) x = __hiloint2double(__double2hiint(x) & keep, __double2loint(x));
      multiply_add(o[group], w[step], b);
    }
  }
}

/// Adds the warp's sums into global memory and starts again at 0.
__device__ inline void flush(double (&o)[kColumnGroups][4], double* sums, float* absolute, const double* pending_of,
                             bool signs, double value_factor, int lane) {
#pragma unroll
  for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double& left = o[group][2 * half];
      double& right = o[group][2 * half + 1];
      const double pending = pending_of[8 * half];
      const int at = (lane / 4 + 8 * half) * kDepth + 8 * group + lane % 4 * 2;
      if (signs) {
        double2* to = reinterpret_cast<double2*>(sums + at);
        const double2 old = *to;
        *to = {__fma_rn(old.x, pending, __dmul_rn(left, value_factor)),
               __fma_rn(old.y, pending, __dmul_rn(right, value_factor))};
      } else {
        float2* to = reinterpret_cast<float2*>(absolute + at);
        const float2 old = *to;
        *to = {__double2float_rd(__fma_rd(old.x, pending, left)), __double2float_rd(__fma_rd(old.y, pending, right))};
      }
      left = right = 0;
    }
  }
}

}  // namespace flashproof::gpu
