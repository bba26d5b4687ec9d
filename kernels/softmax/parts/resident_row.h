// A row held in the registers of the lanes that share it, read once and written once. fused_row.h gives a row to a block,
// warp_per_row.h to a warp.
#pragma once

#include "kernels/declaration.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/softmax/parts/block_reduce.h"
#include "kernels/softmax/parts/forms.h"
#include "kernels/softmax/parts/vectors.h"

namespace flashproof::FP_EXECUTOR {

/// Part of a lane: kVectors vectors, the i-th at column (i·lanes + lane)·kVector.
template <Format F, int kVectors>
class ResidentRow {
 public:
  __device__ __forceinline__ ResidentRow(const SoftmaxArgs& a, int row, int lane, int lanes, bool by_vector)
      : row_(row),
        first_(lane * kVector<F>),
        step_(lanes * kVector<F>),
        stop_(a.row_length ? a.row_length[row] : a.cols),
        by_vector_(by_vector) {
    const std::int64_t base = row * a.x_row;
    if (by_vector) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const int col = first_ + i * step_;
        raw_[i] = minus_inf_vector<F>();
        if (col < stop_) raw_[i] = load_u32x4(vector_at<F>(a.x, base + col));
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        raw_[i] = load_dealt<F>(a, base, first_ + i * step_, stop_);
      }
    }
  }

  /// −inf of no column; a NaN is passed over.
  __device__ __forceinline__ float maximum() const {
    float m = kMinusInf;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      float x[kVector<F>];
      unpack_vector<F>(raw_[i], x);
#pragma unroll
      for (int e = 0; e < kVector<F>; ++e) m = quick_max(m, x[e]);
    }
    return m;
  }

  /// Σ e^{x − m} in the order of the columns.
  __device__ __forceinline__ float sum(float m) {
    float d = 0.0F;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      float x[kVector<F>];
      unpack_vector<F>(raw_[i], x);
#pragma unroll
      for (int e = 0; e < kVector<F>; ++e) {
        const float w = math_exp(__fsub_rn(x[e], m));
        d = __fadd_rn(d, w);
        if constexpr (kHoldsWeights) weight_[i * kVector<F> + e] = w;
      }
    }
    return d;
  }

  /// o = e^{x − m} · inverse, or 0 everywhere; 0 beyond the row's length.
  __device__ __forceinline__ void write(const SoftmaxArgs& a, float m, float inverse, bool zero) const {
    const std::int64_t out = static_cast<std::int64_t>(row_) * a.cols;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int col = first_ + i * step_;
      float y[kVector<F>];
      if constexpr (!kHoldsWeights) unpack_vector<F>(raw_[i], y);
#pragma unroll
      for (int e = 0; e < kVector<F>; ++e) {
        float w;
        if constexpr (kHoldsWeights) {
          w = weight_[i * kVector<F> + e];
        } else {
          w = math_exp(__fsub_rn(y[e], m));  // the same bits once more: registers hold 16-bit x only
        }
        y[e] = zero ? 0.0F : __fmul_rn(w, inverse);
      }
      if (by_vector_) {
        if (col < stop_) store_u32x4(vector_at<F>(a.o, out + col), pack_vector<F>(y));
      } else {
#pragma unroll
        for (int e = 0; e < kVector<F>; ++e) {
          if (col + e < a.cols) store<F>(a.o, out + col + e, col + e < stop_ ? y[e] : 0.0F);
        }
      }
    }
  }

 private:
  // f32: x and its weight share a register; 16 bits: up to 16 columns, beyond that the weights are computed twice.
  static constexpr bool kHoldsWeights = F == Format::f32 || kVectors <= 2;

  uint4 raw_[kVectors];
  float weight_[kHoldsWeights ? kVectors * kVector<F> : 1];
  int row_, first_, step_, stop_;
  bool by_vector_;
};

/// Frame of the exponentials. Hardened, a row without a number keeps 0, where e^{−inf} = 0 leaves d = 0 and e^NaN = NaN:
/// so d = 0 is the empty row, and a NaN passed over by the maximum is not lost.
template <class Variant>
__device__ __forceinline__ float resident_frame(float m) {
  return Variant::kGuardsEmpty && m == kMinusInf ? 0.0F : m;
}

/// Both endings of a row once d is known.
template <class Variant, class Row>
__device__ __forceinline__ void finish_resident(const SoftmaxArgs& a, const Row& mine, int row, bool first, float m,
                                                float d) {
  const bool empty = Variant::kGuardsEmpty && d == 0.0F;
  mine.write(a, resident_frame<Variant>(m), math_reciprocal(d), empty);
  if (first) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(d)));
  }
}

}  // namespace flashproof::FP_EXECUTOR
