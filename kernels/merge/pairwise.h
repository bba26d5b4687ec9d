// Attention states (o_c, lse_c) merged two at a time: folded left in any order, as a weighted sum or side by side.
//
//   computes   λ' = ln(e^λ + e^λc); sum: o' = e^{λ−λ'} o + e^{λc−λ'} o_c; concat: every block times e^{lse_c − λ}
//   shapes     o_in (n, rows, dv), lse_in (n, rows); o (rows, dv), or (rows, n·dv) with block c at columns c·dv;
//              lse (rows)
//   launch     grid = rows; block = 64; thread 0 computes the row's factors, then all threads the columns
//   edges      published: e^{lse1−lse0} overflows beyond 88.7 (lse = inf), −inf beside −inf is NaN; concat only.
//              hardened: reference semantics, o of an empty state is never read, both forms
//   arithmetic f32. published: p0/(1 + e^{lse1−lse0}), p1/(1 + e^{lse0−lse1}), lse0 + ln(1 + e^{lse1−lse0}).
//              hardened: e = e^{−|λ−λc|}, weights 1/(1+e) and e/(1+e), max + ln(1+e);
//              two products and a sum per element
//   source     seed 002 ("Practical Implementation", listing online_softmax3)
//   chosen     fixed by the seed: the formulas, the fold. Open there and chosen here: f32 between the hops;
//              a block keeps its own columns when the order is not 0..n−1 (the listing appends in visiting order)
#pragma once

#include <string>

#include "kernels/maximum.h"
#include "kernels/merge/forms.h"
#include "kernels/registry.h"
#include "kernels/simt/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kMergeThreads = 64;
inline constexpr int kMergeMaxStates = 4096;
inline constexpr float kDropped = -1.0F;  // in place of a weight: this side is an empty state, do not read it

/// One step of the fold: weights of the accumulated and of the new state, and the new lse.
struct MergeStep {
  float keep, add, lse;
};

template <class Variant>
__device__ __forceinline__ MergeStep merge_step(float lse, float lse_c) {
  if (!Variant::kGuardsEmpty) {
    const float ratio = math_exp(__fsub_rn(lse_c, lse));
    return {__fadd_rn(1.0F, ratio), __fadd_rn(1.0F, math_exp(__fsub_rn(lse, lse_c))),
            __fadd_rn(lse, math_log(__fadd_rn(1.0F, ratio)))};  // keep and add are divisors here
  }
  if (lse_c == kMinusInf) {
    return {1.0F, kDropped, lse};
  }
  const float not_finite = __fsub_rn(lse_c, lse_c);  // 0, or NaN for NaN and +inf
  if (lse == kMinusInf) {
    return {kDropped, __fadd_rn(1.0F, not_finite), __fadd_rn(lse_c, not_finite)};
  }
  const float larger = max_nan(lse, lse_c);
  const float smaller = lse > lse_c ? lse_c : lse;
  const float e = __fadd_rn(math_exp(__fsub_rn(smaller, larger)), not_finite);
  const float sum = __fadd_rn(1.0F, e);
  const float w_larger = __fdiv_rn(1.0F, sum);
  const float w_smaller = __fdiv_rn(e, sum);
  const bool kept_is_larger = lse > lse_c;
  const float lse_new = Variant::kMisprintsLse
                            ? __fadd_rn(lse, math_log(__fadd_rn(1.0F, math_exp(__fsub_rn(lse_c, math_exp(lse))))))
                            : __fadd_rn(larger, math_log(sum));
  return {kept_is_larger ? w_larger : w_smaller, kept_is_larger ? w_smaller : w_larger, lse_new};
}

template <class Variant>
__device__ __forceinline__ float scaled(float value, float weight) {
  return Variant::kGuardsEmpty ? __fmul_rn(weight, value) : __fdiv_rn(value, weight);
}

template <Format F, class Variant>
__global__ void fold_pairwise(MergeArgs a) {
  FP_DYNAMIC_SHARED(float, factors);  // (2, n): keep[k], add[k]
  float* keep = factors;
  float* add = factors + a.states;
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);

  if (t == 0) {
    float lse = kMinusInf;
    // The published fold starts from its first state; the hardened one from the identity.
    const int first = Variant::kGuardsEmpty ? 0 : 1;
    if (first == 1) {
      lse = a.lse_in[a.order[0] * a.lse_state + row * a.lse_row];
    }
    for (int k = first; k < a.states; ++k) {
      const MergeStep step = merge_step<Variant>(lse, a.lse_in[a.order[k] * a.lse_state + row * a.lse_row]);
      keep[k] = step.keep;
      add[k] = step.add;
      lse = step.lse;
    }
    store<Format::f32>(a.lse, row, lse);
  }
  __syncthreads();

  const std::int64_t width = a.concat ? static_cast<std::int64_t>(a.states) * a.dv : a.dv;
  const int first = Variant::kGuardsEmpty ? 0 : 1;
  for (int col = t; col < a.dv; col += kMergeThreads) {
    float sum = 0.0F;
    for (int k = 0; k < a.states; ++k) {
      const int state = a.order[k];
      float value = 0.0F;
      const bool dropped = Variant::kGuardsEmpty && add[k] == kDropped;
      if (!dropped) {
        value = load<F>(a.o_in, state * a.o_state + row * a.o_row + col * a.o_col);
        value = k >= first ? scaled<Variant>(value, add[k]) : value;
      }
      if (a.concat) {
        for (int later = k + 1; later < a.states && !dropped; ++later) {
          value = scaled<Variant>(value, keep[later]);
        }
        store<F>(a.o, row * width + static_cast<std::int64_t>(state) * a.dv + col, value);
      } else if (!dropped) {
        sum = keep[k] == kDropped ? value : __fadd_rn(__fmul_rn(keep[k], sum), value);
      }
    }
    if (!a.concat) {
      store<F>(a.o, row * width + col, sum);
    }
  }
}

template <class Variant>
void launch_merge_pairwise(const MergeArgs& args, Stream stream) {
  dispatch_format(args.format, [&]<Format F>() {
    launch(fold_pairwise<F, Variant>, dim3(static_cast<unsigned>(args.rows)), dim3(kMergeThreads),
           2 * sizeof(float) * static_cast<std::size_t>(args.states), stream, args);
  });
}

template <class Variant>
std::string merge_pairwise_unsupported(const Problem& problem) {
  const auto& p = std::get<MergeProblem>(problem);
  if (p.o.shape[0] > kMergeMaxStates) {
    return "n = " + std::to_string(p.o.shape[0]) + " states: the factors are held in shared memory, legal range 1.." +
           std::to_string(kMergeMaxStates);
  }
  if (!Variant::kGuardsEmpty && p.form == MergeForm::sum) {
    return "form = sum: the published formula concatenates, legal: concat";
  }
  return {};
}

constexpr Arithmetic merge_pairwise_arithmetic(MergeWeights weights) {
  return {.reduction = Reduction::pairwise_fold,
          .exp_error = kDetExpError,
          .log_error = kDetLogError,
          .merge_weights = weights};
}

}  // namespace flashproof::FP_EXECUTOR
