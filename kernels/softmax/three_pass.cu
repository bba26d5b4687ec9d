// Three passes over the row, one launch each, a read of the row each: maximum, sum, quotients.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / d[r], d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     three of grid = rows, block = 128 (4 warps); workspace: m and d, 8 bytes a row. 3MN + 3M reads, MN writes
//   edges      published: a row of −inf gives −inf − (−inf) = NaN. hardened: reference semantics
//   arithmetic f32; lane t sums columns t, t+128, ... left to right, butterfly in the warp (5), left fold over the warps
//              (4); exp accurate; one division per output
//   source     seed 001 ("the three-pass baseline", equations of pass 1, 2 and 3)
//   chosen     fixed by the seed: the three passes, division. Open there and chosen here: a launch for each; the order
//              inside the sum; max ignores NaN when published

#include "kernels/softmax/parts/whole_row.h"
#include "kernels/softmax/parts/workspace.h"

namespace flashproof::FP_EXECUTOR {

/// Pass 1: m.
template <Format F, class Variant>
__global__ void three_pass_maximum(SoftmaxArgs a, float* m) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const float frame = columns_maximum<F, Variant>(a, row * a.x_row, 0, length, partial);
  if (threadIdx.x == 0) {
    m[row] = frame;
  }
}

/// Pass 2: d, and lse.
template <Format F, class Variant>
__global__ void three_pass_sum(SoftmaxArgs a, const float* m, float* d) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const float frame = m[row];
  const float sum = columns_sum<F>(a, row * a.x_row, 0, length, frame, partial);
  if (threadIdx.x == 0) {
    const bool empty = Variant::kGuardsEmpty && frame == kMinusInf;
    d[row] = sum;
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(frame, math_log(sum)));
  }
}

/// Pass 3: o.
template <Format F, class Variant>
__global__ void three_pass_normalise(SoftmaxArgs a, const float* m, const float* d) {
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const bool empty = Variant::kGuardsEmpty && m[row] == kMinusInf;
  store_quotients<F>(a, row, length, m[row], d[row], empty);
}

inline std::int64_t three_pass_bytes(const SoftmaxExtents& e) { return 8 * e.rows; }
inline std::int64_t three_pass_workspace(const Problem& problem) {
  return three_pass_bytes(SoftmaxExtents::of(problem));
}

template <class Variant>
void launch_three_pass(const SoftmaxArgs& args, Stream stream) {
  require_workspace(args.workspace, three_pass_bytes(SoftmaxExtents::of(args)));
  auto* const m = static_cast<float*>(args.workspace.data);
  float* const d = m + args.rows;
  const dim3 grid(static_cast<unsigned>(args.rows));
  dispatch_format(args.format, [&]<Format F>() {
    launch(three_pass_maximum<F, Variant>, grid, dim3(kRowThreads), 0, stream, args, m);
    launch(three_pass_sum<F, Variant>, grid, dim3(kRowThreads), 0, stream, args, m, d);
    launch(three_pass_normalise<F, Variant>, grid, dim3(kRowThreads), 0, stream, args, m, d);
  });
}

inline constexpr Arithmetic kThreePassArithmetic = row_arithmetic(Reduction::two_pass, Ending::divide);

std::span<const KernelDeclaration> softmax_three_pass() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.three_pass.published", kThreePassArithmetic, launch_three_pass<SoftmaxPublished>,
                  {.workspace = three_pass_workspace}),
      declaration("softmax.three_pass.hardened", kThreePassArithmetic, launch_three_pass<SoftmaxHardened>,
                  {.workspace = three_pass_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
