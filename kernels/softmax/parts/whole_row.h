// The formulas that take a row as a whole, one block each: with or without the maximum subtracted, ended by a division
// or by lse alone. naive.cu, safe.cu, lse_unshifted.cu and lse_division_free.cu say which is whose.
//
// 128 threads: lane t sums columns t, t+128, ... left to right, butterfly in the warp (5), left fold over the warps (4).
#pragma once

#include "kernels/declaration.h"
#include "kernels/maximum.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "kernels/softmax/parts/block_reduce.h"
#include "kernels/softmax/parts/forms.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kRowThreads = 128;
inline constexpr int kRowWarps = kRowThreads / 32;

/// Is a sum of unshifted exponentials a normal number? Below, its terms have lost bits; above, it is infinity.
__device__ __forceinline__ bool in_normal_range(float sum) { return sum >= kLeastNormal && sum <= kLargestFinite; }

/// The largest of the columns [begin, end) of the row that begins at element `base`; published, NaN aside.
template <Format F, class Variant>
__device__ __forceinline__ float columns_maximum(const SoftmaxArgs& a, std::int64_t base, int begin, int end,
                                                 float* partial) {
  const auto maximum = [](float p, float q) { return larger<Variant>(p, q); };
  float m = kMinusInf;
  for (std::int64_t j = begin + static_cast<int>(threadIdx.x); j < end; j += kRowThreads) {
    m = maximum(m, load<F>(a.x, base + j * a.x_col));
  }
  return block_reduce<kRowWarps>(m, partial, maximum);
}

/// Their Σ exp(x − m).
template <Format F>
__device__ __forceinline__ float columns_sum(const SoftmaxArgs& a, std::int64_t base, int begin, int end, float m,
                                             float* partial) {
  float sum = 0.0F;
  for (std::int64_t j = begin + static_cast<int>(threadIdx.x); j < end; j += kRowThreads) {
    sum = __fadd_rn(sum, math_exp(__fsub_rn(load<F>(a.x, base + j * a.x_col), m)));
  }
  return block_reduce<kRowWarps>(sum, partial, Plus{});
}

/// o = exp(x − m) / d of a row, 0 beyond its length and where it is empty.
template <Format F>
__device__ __forceinline__ void store_quotients(const SoftmaxArgs& a, int row, int length, float m, float d,
                                                bool empty) {
  for (std::int64_t j = threadIdx.x; j < a.cols; j += kRowThreads) {
    float y = 0.0F;
    if (j < length && !empty) {
      y = __fdiv_rn(math_exp(__fsub_rn(load<F>(a.x, row * a.x_row + j * a.x_col), m)), d);
    }
    store<F>(a.o, static_cast<std::int64_t>(row) * a.cols + j, y);
  }
}

/// `kShifted`: x − max is exponentiated; `kDivides`: y = e / d, else y = exp(x − lse).
template <bool shifted, Ending ending>
struct RowFormula {
  static constexpr bool kShifted = shifted;
  static constexpr bool kDivides = ending == Ending::divide;
};

template <Format F, class Variant, class Formula>
__global__ void whole_row(SoftmaxArgs a) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const std::int64_t base = row * a.x_row;

  float m = kMinusInf;  // unshifted, it only tells whether the row is empty
  if (Formula::kShifted || Variant::kGuardsEmpty) {
    m = columns_maximum<F, Variant>(a, base, 0, length, partial);
  }
  const auto shifted = [m](float x) { return Formula::kShifted ? __fsub_rn(x, m) : x; };

  float d = 0.0F;
  for (std::int64_t j = t; j < length; j += kRowThreads) {
    d = __fadd_rn(d, math_exp(shifted(load<F>(a.x, base + j * a.x_col))));
  }
  d = block_reduce<kRowWarps>(d, partial, Plus{});

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  const bool refused = Variant::kRefusesBeyondRange && !Formula::kShifted && !in_normal_range(d);
  float lse = Formula::kShifted ? __fadd_rn(m, math_log(d)) : math_log(d);
  if (refused) {
    lse = kNoNumber;
  }
  for (std::int64_t j = t; j < a.cols; j += kRowThreads) {
    float y = 0.0F;
    if (j < length && !empty) {
      const float x = load<F>(a.x, base + j * a.x_col);
      if (refused) {
        y = lse;
      } else {
        y = Formula::kDivides ? __fdiv_rn(math_exp(shifted(x)), d) : math_exp(__fsub_rn(x, lse));
      }
    }
    store<F>(a.o, static_cast<std::int64_t>(row) * a.cols + j, y);
  }
  if (t == 0) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : lse);
  }
}

template <class Variant, class Formula>
void launch_whole_row(const SoftmaxArgs& args, Stream stream) {
  dispatch_format(args.format, [&]<Format F>() {
    launch(whole_row<F, Variant, Formula>, dim3(static_cast<unsigned>(args.rows)), dim3(kRowThreads), 0, stream, args);
  });
}

constexpr Arithmetic row_arithmetic(Reduction reduction, Ending ending) {
  return {.reduction = reduction,
          .exp_error = kDetExpError,
          .log_error = kDetLogError,
          .lanes = kRowThreads,
          .warps = kRowWarps,
          .ending = ending};
}

template <class Formula>
constexpr Arithmetic whole_row_arithmetic() {
  return row_arithmetic(Formula::kShifted ? Reduction::two_pass : Reduction::unshifted,
                        Formula::kDivides ? Ending::divide : Ending::division_free);
}

}  // namespace flashproof::FP_EXECUTOR
