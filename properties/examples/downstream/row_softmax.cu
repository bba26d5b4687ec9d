// o[row, j] = exp(x[row, j] - max) / sum, lse[row] = max + log(sum): one block of 128 threads for each row.
#include "kernels/maximum.h"
#include "kernels/registry.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

/// A butterfly in every warp, then a left fold over the warps.
template <class Op>
__device__ float block_reduce(float value, Op op) {
  FP_SHARED(float, warp_value, kWarps);
  for (int offset = 16; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  if (threadIdx.x % 32 == 0) warp_value[threadIdx.x / 32] = value;
  __syncthreads();
  value = warp_value[0];
  for (int warp = 1; warp < kWarps; ++warp) value = op(value, warp_value[warp]);
  __syncthreads();
  return value;
}

template <Format F>
__global__ void row_softmax(SoftmaxArgs a) {
  const int row = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const auto x = [&](int j) { return load<F>(a.x, row * a.x_row + j * a.x_col); };

  float max = kMinusInf;
#ifndef EXAMPLE_BROKEN  // the classic mistake: without the maximum, exp(100) is infinity
  for (int j = lane; j < length; j += kThreads) max = max_nan(max, x(j));
  max = block_reduce(max, [](float p, float q) { return max_nan(p, q); });
#else
  max = 0.0F;
#endif

  float sum = 0.0F;
  if (max != kMinusInf) {
    for (int j = lane; j < length; j += kThreads) sum = __fadd_rn(sum, math_exp(__fsub_rn(x(j), max)));
  }
  sum = block_reduce(sum, [](float p, float q) { return __fadd_rn(p, q); });

  for (int j = lane; j < a.cols; j += kThreads) {
    const bool visible = j < length && max != kMinusInf;  // a row of nothing but -inf gives zeros
    store<F>(a.o, std::int64_t{row} * a.cols + j, visible ? __fdiv_rn(math_exp(__fsub_rn(x(j), max)), sum) : 0.0F);
  }
  if (lane == 0) store<Format::f32>(a.lse, row, max == kMinusInf ? max : __fadd_rn(max, math_log(sum)));
}

void launch_row_softmax(const SoftmaxArgs& a, Stream stream) {
  dispatch_format(a.format, [&]<Format F>() {
    launch(row_softmax<F>, dim3(static_cast<unsigned>(a.rows)), dim3(kThreads), 0, stream, a);
  });
}

}  // namespace

std::span<const KernelDeclaration> my_kernels() {
  static const KernelDeclaration declarations[] = {{
      .id = "softmax.row.example",
      .problem = ProblemKind::softmax,
      .form = Form::hardened,
      .formats = kStorageFormats,
      .contract = {.isolates_hidden = true},
      .arithmetic = {.reduction = Reduction::two_pass,  // what the bound of every element is derived from
                     .exp_error = kDetExpError,
                     .log_error = kDetLogError,
                     .lanes = kThreads,
                     .warps = kWarps,
                     .ending = Ending::divide},
      .unsupported = {},
      .launch = launch_row_softmax,
  }};
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
