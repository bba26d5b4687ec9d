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
  const auto maximum = [](float p, float q) { return larger<Variant>(p, q); };

  float m = kMinusInf;  // unshifted, it only tells whether the row is empty
  if (Formula::kShifted || Variant::kGuardsEmpty) {
    for (std::int64_t j = t; j < length; j += kRowThreads) {
      m = maximum(m, load<F>(a.x, base + j * a.x_col));
    }
    m = block_reduce<kRowWarps>(m, partial, maximum);
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
