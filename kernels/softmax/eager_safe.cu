// Five operations on whole matrices, as a framework runs them one by one: max, subtract, exp, sum, divide.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / d[r], d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     five: max and sum of grid = rows, the others of one thread per element; block = 128. Workspace, all f32:
//              x − m and its exponentials (rows, cols), m and d (rows). 5MN + 2M reads, 3MN + 2M writes
//   edges      published: a row of −inf gives −inf − (−inf) = NaN. hardened: reference semantics
//   arithmetic f32, the intermediates too; lane t sums columns t, t+128, ... left to right, butterfly in the warp (5),
//              left fold over the warps (4); exp accurate; one division per output
//   source     seed 001 ("comparison", the row "naive softmax": 5MN + 2M reads); seed 002 ("Online Softmax",
//              safe_softmax2: the same five operations in PyTorch)
//   chosen     fixed by the seeds: the five operations, their traffic. Open there and chosen here: intermediates in f32
//              whatever the storage; the order inside the sum; max ignores NaN when published (PyTorch's does not; d is
//              NaN all the same)

#include "kernels/softmax/parts/whole_row.h"
#include "kernels/softmax/parts/workspace.h"

namespace flashproof::FP_EXECUTOR {

/// What lies between the launches.
struct EagerSpace {
  float *shifted, *weight;  // (rows, cols)
  float *m, *d;             // (rows)
};

__device__ __forceinline__ int eager_length(const SoftmaxArgs& a, std::int64_t row) {
  return a.row_length ? a.row_length[row] : a.cols;
}
/// The element of this thread, in a matrix of rows · cols; beyond it at the end of the grid.
__device__ __forceinline__ std::int64_t eager_element() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
}

template <Format F, class Variant>
__global__ void eager_max(SoftmaxArgs a, EagerSpace space) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const float m = columns_maximum<F, Variant>(a, row * a.x_row, 0, eager_length(a, row), partial);
  if (threadIdx.x == 0) {
    space.m[row] = m;
  }
}

template <Format F>
__global__ void eager_subtract(SoftmaxArgs a, EagerSpace space) {
  const std::int64_t at = eager_element();
  const std::int64_t row = at / max(a.cols, 1);
  if (row < a.rows && at % a.cols < eager_length(a, row)) {
    space.shifted[at] = __fsub_rn(load<F>(a.x, row * a.x_row + at % a.cols * a.x_col), space.m[row]);
  }
}

/// Templates only so that every file may include them.
template <class Variant>
__global__ void eager_exp(SoftmaxArgs a, EagerSpace space) {
  const std::int64_t at = eager_element();
  const std::int64_t row = at / max(a.cols, 1);
  if (row < a.rows && at % a.cols < eager_length(a, row)) {
    space.weight[at] = math_exp(space.shifted[at]);
  }
}

template <class Variant>
__global__ void eager_sum(SoftmaxArgs a, EagerSpace space) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int length = eager_length(a, row);
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j < length; j += kRowThreads) {
    sum = __fadd_rn(sum, space.weight[static_cast<std::int64_t>(row) * a.cols + j]);
  }
  sum = block_reduce<kRowWarps>(sum, partial, Plus{});
  if (threadIdx.x == 0) {
    const bool empty = Variant::kGuardsEmpty && space.m[row] == kMinusInf;
    space.d[row] = sum;
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(space.m[row], math_log(sum)));
  }
}

template <Format F, class Variant>
__global__ void eager_divide(SoftmaxArgs a, EagerSpace space) {
  const std::int64_t at = eager_element();
  const std::int64_t row = at / max(a.cols, 1);
  if (row < a.rows) {
    const bool empty = Variant::kGuardsEmpty && space.m[row] == kMinusInf;
    const bool visible = at % a.cols < eager_length(a, row) && !empty;
    store<F>(a.o, at, visible ? __fdiv_rn(space.weight[at], space.d[row]) : 0.0F);
  }
}

inline std::int64_t eager_safe_bytes(const SoftmaxExtents& e) { return 8 * (e.elements() + e.rows); }
inline std::int64_t eager_safe_workspace(const Problem& problem) {
  return eager_safe_bytes(SoftmaxExtents::of(problem));
}

template <class Variant>
void launch_eager_safe(const SoftmaxArgs& args, Stream stream) {
  const SoftmaxExtents extents = SoftmaxExtents::of(args);
  require_workspace(args.workspace, eager_safe_bytes(extents));
  auto* const first = static_cast<float*>(args.workspace.data);
  float* const m = first + 2 * extents.elements();
  const EagerSpace space{first, first + extents.elements(), m, m + args.rows};
  const dim3 rows(static_cast<unsigned>(args.rows));
  const dim3 elements(static_cast<unsigned>((extents.elements() + kRowThreads - 1) / kRowThreads));
  dispatch_format(args.format, [&]<Format F>() {
    launch(eager_max<F, Variant>, rows, dim3(kRowThreads), 0, stream, args, space);
    launch(eager_subtract<F>, elements, dim3(kRowThreads), 0, stream, args, space);
    launch(eager_exp<Variant>, elements, dim3(kRowThreads), 0, stream, args, space);
    launch(eager_sum<Variant>, rows, dim3(kRowThreads), 0, stream, args, space);
    launch(eager_divide<F, Variant>, elements, dim3(kRowThreads), 0, stream, args, space);
  });
}

inline constexpr Arithmetic kEagerSafeArithmetic = row_arithmetic(Reduction::two_pass, Ending::divide);

std::span<const KernelDeclaration> softmax_eager_safe() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.eager_safe.published", kEagerSafeArithmetic, launch_eager_safe<SoftmaxPublished>,
                  {.workspace = eager_safe_workspace}),
      declaration("softmax.eager_safe.hardened", kEagerSafeArithmetic, launch_eager_safe<SoftmaxHardened>,
                  {.workspace = eager_safe_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
