#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/finish.h"

namespace flashproof::gpu {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr double kU = 0x1p-53;
constexpr double kInflate = 1 + 0x1p-30;  // for the roundings of radius arithmetic, all of it on numbers >= 0
constexpr double kSmallest = 0x1p-1000;   // and its underflows
constexpr double kAbsoluteIsTrue = 0.99;  // Σ w|v| of true weights over that of computed ones: within 2^-8 of 1

__device__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }

/// 2^-12 of the spacing of `format` around |x| >= nearest.
__device__ double strict_tolerance(double nearest, int precision, int min_exponent) {
  const int least = min_exponent - precision + 1;
  const int exponent = nearest > 0 ? (__double2hiint(nearest) >> 20) - 1023 : -2000;  // nearest is no subnormal double
  return __longlong_as_double(static_cast<long long>(max(exponent - precision + 1, least) - 12 + 1023) << 52);
}

struct Bounds {
  double r_n, r_l, denominator;  // Σ rho + h_N u L; the same for L; L − r_l
  double rv;
  bool bounded;
};

__device__ void add(unsigned long long* counter, unsigned value) {
  if (value != 0) atomicAdd(counter, static_cast<unsigned long long>(value));
}

/// One warp per row.
__global__ void __launch_bounds__(kThreads) finish_kernel(const __grid_constant__ FinishArguments arguments) {
  const int lane = threadIdx.x % kLanes;
  const int i = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
  if (i >= arguments.q_length) return;
  const int h = blockIdx.y % arguments.q_heads, batch = blockIdx.y / arguments.q_heads;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * arguments.row_blocks * kRows + i;
  const HeadBounds& head = arguments.head[batch * arguments.k_heads + h * arguments.k_heads / arguments.q_heads];
  const RowState state = arguments.state[row];
  // Not from l: at scores of 1e76 u|m| is large, so every weight of a row may be 0 or garbage; its r is +inf then.
  const bool no_key = state.m == kNoReference;
  const Visible visible = arguments.visible[static_cast<std::int64_t>(batch) * arguments.q_length + i];
  const bool one_key =
      visible.last - visible.first == 1 && (arguments.sink == nullptr || arguments.sink[h] == kNoReference);

  Bounds b;
  b.r_l = state.r + arguments.h_l_u * state.l + arguments.dropped;
  b.r_n = state.r + arguments.h_n_u * state.l + arguments.dropped;
  b.rv = state.rv;
  b.denominator = state.l - b.r_l;
  b.bounded = b.r_l < 0.25 * state.l && state.l >= 0.5 && state.l < infinity();
  const RowTerms terms = arguments.row[row];
  const bool exact = terms.quanta * __longlong_as_double(static_cast<long long>(head.quanta)) < 0x1p53;
  const double score_error = exact ? 0 : terms.score * __longlong_as_double(static_cast<long long>(head.norm));
  const bool scores_dominate = score_error * state.l > 0.5 * b.r_n;

  unsigned within_c = 0, within_strict = 0;
  for (int c = lane; c < arguments.value_dim; c += kLanes) {
    const std::int64_t at = row * kDepth + c;
    const double column = __longlong_as_double(static_cast<long long>(head.column[c]));
    const double o = no_key ? 0 : __ddiv_rn(arguments.o[at], state.l);
    double radius = infinity(), scale = 0;
    if (no_key) {
      radius = 0;
    } else if (b.bounded) {
      const double sums = fmin(b.rv + arguments.dropped * column, b.r_n * column);
      const double error = (sums + fabs(o) * b.r_l) / b.denominator + 2 * kU * fabs(o);
      radius = (one_key ? 3 * kU * fabs(o) : error) * kInflate + kSmallest;
      scale = kAbsoluteIsTrue * arguments.absolute[at] / (state.l + b.r_l);
    }
    const bool number = radius < infinity() && fabs(o) < infinity();
    if (!number) radius = infinity();
    arguments.o[at] = number ? o : 0.0;
    arguments.radius[at] = radius;
    const double nearest = fmax(fabs(o) * (1 - 4 * kU) - radius, 0.0);
    const double c_tolerance = fmax(strict_tolerance(nearest, 24, -126), 0x1p-36 * fmax(scale, nearest));
    within_c += radius <= c_tolerance;
    within_strict += radius <= strict_tolerance(nearest, arguments.precision, arguments.min_exponent);
  }
  for (int step = kLanes / 2; step > 0; step /= 2) {
    within_c += __shfl_xor_sync(kAllLanes, within_c, step);
    within_strict += __shfl_xor_sync(kAllLanes, within_strict, step);
  }
  if (lane != 0) return;

  double lse = -infinity(), lse_radius = 0;
  if (!no_key) {
    // y from any logarithm; the proven exp says how far it is off: |log L − y| <= (|d| + 4 u)(1 + 2^-20).
    const double y = log(state.l);
    const double d = fabs(__fma_rn(state.l, proven_exp(-y), -1.0));
    lse = __dadd_rn(state.m, y);
    lse_radius = (b.r_l / b.denominator + (d + 4 * kU) * (1 + 0x1p-20) + kU * fabs(lse)) * kInflate;
    if (!b.bounded || !(d < 0x1p-21) || !(lse_radius < infinity())) lse_radius = infinity();
  }
  const double nearest = no_key ? 0 : fmax(fabs(lse) * (1 - 4 * kU) - lse_radius, 0.0);
  const double lse_tolerance = strict_tolerance(nearest, 24, -126);
  const unsigned width = arguments.value_dim;
  const bool row_c = within_c == width && (lse_radius <= lse_tolerance || lse_radius <= 0x1p-36);
  const bool row_strict = within_strict == width && lse_radius <= lse_tolerance;
  const bool bounded = no_key || b.bounded;
  arguments.lse[row] = no_key || lse_radius < infinity() ? lse : 0.0;
  arguments.lse_radius[row] = lse_radius;
  arguments.score_error[row] = bounded ? score_error : infinity();
  arguments.verdict[row] = (row_c ? kWithinC : 0) | (row_strict ? kWithinStrict : 0) |
                           (scores_dominate ? kScoresDominate : 0) | (bounded ? 0 : kNotBounded) |
                           (no_key ? kNoKey : 0);
  Counts& counts = *arguments.counts;
  add(&counts.rows_c, row_c), add(&counts.rows_strict, row_strict);
  add(&counts.elements_c, within_c), add(&counts.elements_strict, within_strict);
  for (int strict = 0; strict < 2; ++strict) {
    if (strict ? row_strict : row_c) continue;
    add(!bounded ? &counts.not_bounded[strict] : scores_dominate ? &counts.scores[strict] : &counts.sums[strict], 1);
  }
}

}  // namespace

void finish(const FinishArguments& arguments) {
  if (arguments.q_length == 0) return;
  const int rows = kThreads / kLanes;
  finish_kernel<<<dim3((arguments.q_length + rows - 1) / rows, arguments.batch * arguments.q_heads), kThreads>>>(
      arguments);
  check_launch("finish_kernel");
}

}  // namespace flashproof::gpu
