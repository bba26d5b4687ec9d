#include "reference/oracle/fp64/softmax.h"

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/symbolic_rows.h"
#include "reference/oracle/fp64/vector/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/fp64/softmax.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "reference/oracle/fp64/vector/decode-inl.h"
#include "reference/oracle/fp64/vector/row_weights-inl.h"

#ifndef FLASHPROOF_ORACLE_FP64_SOFTMAX_ONCE
#define FLASHPROOF_ORACLE_FP64_SOFTMAX_ONCE
namespace flashproof::rows64 {

struct SoftmaxJob {
  const SoftmaxProblem& problem;
  std::span<const std::int64_t> rows;
  const SoftmaxTerms& terms;
  Truth& truth;
  std::span<RowCause> cause;
  std::vector<char>& symbolic;  // rows left to symbolic_row()

  std::int64_t length(std::int64_t row) const {
    return problem.row_length.empty() ? problem.x.shape[1] : problem.row_length[row];
  }
};

}  // namespace flashproof::rows64
#endif

HWY_BEFORE_NAMESPACE();
namespace flashproof::rows64::HWY_NAMESPACE {

using flashproof::HWY_NAMESPACE::decode_run;

/// Row p of the truth. The columns hi and radius of the row hold its scores and weights on the way: a row of any length
/// needs no other memory.
template <Format kFormat>
HWY_INLINE void softmax_row(const SoftmaxJob& job, std::int64_t p) {
  constexpr std::int64_t kChunk = 1024;  // decoded and scanned while it is in the cache
  const Tensor& x = job.problem.x;
  const std::int64_t row = job.rows[p];
  const std::int64_t width = x.shape[1];
  const std::int64_t n = job.length(row);
  double* const value = job.truth.o.hi() + p * width;
  double* const radius = job.truth.o.radius() + p * width;
  RowSums sums;
  for (std::int64_t j = 0; j < n; j += kChunk) {
    const std::int64_t count = std::min(kChunk, n - j);
    decode_run<kFormat>(x, row * x.stride[0] + j * x.stride[1], x.stride[1], count, value + j);
    scan_scores(value + j, count, sums);
  }
  std::fill(value + n, value + width, 0.0);
  std::fill(radius + n, radius + width, 0.0);
  job.symbolic[p] = sums.has_numbers() ? 0 : 1;
  if (job.symbolic[p] != 0) return;
  weigh(value, n, job.terms, value, radius, sums);
  normalize(value, radius, n, sums, job.terms);
  const Lse lse = sums.lse(job.terms);
  job.truth.lse.hi()[p] = lse.value;
  job.truth.lse.radius()[p] = lse.radius;
  job.truth.tier[p] = Tier::fp64;
  job.cause[p] = sums.cause();
}

void softmax_rows(const SoftmaxJob& job, std::int64_t first, std::int64_t last) {
  switch (job.problem.x.format) {
    case Format::f32:
      for (std::int64_t p = first; p < last; ++p) softmax_row<Format::f32>(job, p);
      break;
    case Format::f16:
      for (std::int64_t p = first; p < last; ++p) softmax_row<Format::f16>(job, p);
      break;
    default:
      for (std::int64_t p = first; p < last; ++p) softmax_row<Format::bf16>(job, p);
      break;
  }
}

}  // namespace flashproof::rows64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashproof {
namespace rows64 {

HWY_EXPORT(softmax_rows);

}  // namespace rows64

void fp64_softmax(const SoftmaxProblem& problem, std::span<const std::int64_t> rows, const Threads& threads,
                  Truth& truth, std::span<RowCause> cause, const SoftmaxTerms& terms) {
  using namespace rows64;
  constexpr std::int64_t kTask = 16384;  // elements: tens of microseconds
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, problem.x.shape[1]));
  std::vector<char> symbolic(rows.size());
  const SoftmaxJob job{problem, rows, terms, truth, cause, symbolic};
  threads.for_each((count + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t first = task * rows_per_task;
    HWY_DYNAMIC_DISPATCH(softmax_rows)(job, first, std::min(count, first + rows_per_task));
  });
  set_symbolic_rows(problem, rows, symbolic, truth);
}

}  // namespace flashproof
#endif  // HWY_ONCE
