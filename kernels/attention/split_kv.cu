// Decoding: the keys of one query are shared by several blocks, each with (o, lse) of its part; a second kernel combines
// them.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs; k and v of 8 bits too; loads of
//              eight elements (of f32: four) where rows of k and v begin at such and d, dv are multiples of 8
//   launch     parts: grid = (Hq/Hk · Sq, Hk · 4, B), block = 128: 8 groups of 16 lanes, a lane has columns 8t .. 8t + 7
//              of every 128. Blocks that read the same keys are neighbours. combination: grid = (Sq, Hq, B), block = 128.
//              d <= 576, dv <= 512; the scores of a chunk stand in shared memory. Part p has the chunks
//              [p·n/4, (p+1)·n/4) of the plan in visiting order. Workspace: (o, lse) of every part and row
//   edges      reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key; a part
//              without a visible key has lse = −inf and is left out
//   arithmetic f32. q·k: 128 chains (column mod 128), neighbours first. Part: m' = max(m, max s), α = e^{m−m'},
//              p = e^{s−m'}; of thread t keys t, t+128, ... of the chunk: l = l·α + Σ p, one butterfly over 128 at the end;
//              acc·α, then 8 fma chains (key mod 8) that begin with it and 0, added neighbours first after every chunk;
//              o = acc / l, times v_descale. Combination: M = max λ, w = e^{λ−M}, W = Σ w left to right, o = (fma chain Σ w o) / W,
//              lse = M + ln W. o of a part is stored in f32, or rounded to the format of the output
//   source     Dao et al. 2023 (Flash-Decoding); FlashAttention-2, combine_attn_seqk_parallel
//   chosen     4 parts, whatever the length; the flat combination with shifted weights and one division

#include <algorithm>
#include <string>

#include "kernels/attention/parts/split_kv_part.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/registry.h"
#include "kernels/run/workspace.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant>
__global__ void split_combine(AttentionArgs a, PartialStates states) {
  const Sequence place(a, static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y));
  const int query = static_cast<int>(blockIdx.x);
  if (query >= place.q_length) {
    return;
  }
  const std::int64_t row = place.output_row(a, query);
  float largest = kMinusInf;
  for (int part = 0; part < kParts; ++part) {
    largest = larger<Variant>(largest, states.lse[row * kParts + part]);
  }
  float weight[kParts] = {};
  float sum = 0.0F;
  for (int part = 0; part < kParts; ++part) {
    const float lse = states.lse[row * kParts + part];
    if (lse != kMinusInf) {
      weight[part] = math_exp(__fsub_rn(lse, largest));
      sum = __fadd_rn(sum, weight[part]);
    }
  }
  with_storage_format(states.format, [&]<Format FP>() {
    with_storage_format(a.out_format, [&]<Format FO>() {
      for (int column = static_cast<int>(threadIdx.x); column < a.value_dim; column += kSplitKvThreads) {
        float o = 0.0F;
        for (int part = 0; part < kParts; ++part) {
          if (states.lse[row * kParts + part] != kMinusInf) {
            o = __fmaf_rn(weight[part], load<FP>(states.o, (row * kParts + part) * a.value_dim + column), o);
          }
        }
        store<FO>(a.o, row * a.value_dim + column, largest == kMinusInf ? 0.0F : __fdiv_rn(o, sum));
      }
    });
  });
  if (threadIdx.x == 0) {
    store<Format::f32>(a.lse, row, largest == kMinusInf ? kMinusInf : __fadd_rn(largest, math_log(sum)));
  }
}

/// kNarrow: o of a part in the format of the output.
template <bool kNarrow>
void launch_attention_split_kv(const AttentionArgs& args, Stream stream) {
  const std::int64_t rows = static_cast<std::int64_t>(args.q_heads) *
                            (args.q_start ? args.tokens : static_cast<std::int64_t>(args.batch) * args.q_length);
  const Format format = kNarrow ? args.out_format : Format::f32;
  require_workspace(args.workspace, PartialStates::bytes(rows, args.value_dim, format));
  char* space = static_cast<char*>(args.workspace.data);
  const PartialStates states{reinterpret_cast<float*>(space), space + PartialStates::lse_bytes(rows), format};
  const bool vectors = rows_are_vectors(args.k, args.k_stride, args.kv_format, args.head_dim) &&
                       rows_are_vectors(args.v, args.v_stride, args.kv_format, args.value_dim);
  const dim3 grid(static_cast<unsigned>(args.q_heads / args.k_heads * args.q_length),
                  static_cast<unsigned>(args.k_heads * kParts), static_cast<unsigned>(args.batch));
  const auto part = [&]<Format F, int kSets>() {
    const auto kernel =
        vectors ? split_part<AttentionHardened, F, kSets, true> : split_part<AttentionHardened, F, kSets, false>;
    launch(kernel, grid, dim3(kSplitKvThreads), static_cast<std::size_t>(SplitShared::bytes(args.max_chunk, kSets)),
           stream, args, states);
  };
  dispatch_input_format(args.kv_format, [&]<Format F>() {
    const int sets = sets_of_columns(std::max(args.head_dim, args.value_dim));
    if (sets == 1) {
      part.template operator()<F, 1>();
    } else if (sets == 2) {
      part.template operator()<F, 2>();
    } else {
      part.template operator()<F, 5>();
    }
  });
  launch(split_combine<AttentionHardened>,
         dim3(static_cast<unsigned>(args.q_length), static_cast<unsigned>(args.q_heads),
              static_cast<unsigned>(args.batch)),
         dim3(kSplitKvThreads), 0, stream, args, states);
}

template <bool kNarrow>
std::int64_t split_kv_workspace(const Problem& problem) {
  const OutputShape shape = output_shape(problem);
  return PartialStates::bytes(shape.rows, shape.width, kNarrow ? output_format(problem) : Format::f32);
}

inline std::string split_kv_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  if (p.k_heads() > 65535 / kParts) {
    return beyond_range("Hk", p.k_heads(), 65535 / kParts);
  }
  std::int64_t chunk = 0;
  for (int c = 0; c < p.plan.chunks(); ++c) {
    chunk = std::max<std::int64_t>(chunk, p.plan.boundary[c + 1] - p.plan.boundary[c]);
  }
  const int sets = sets_of_columns(std::max(p.head_dim(), p.value_dim()));
  const std::int64_t most = (kSharedLimit - SplitShared::bytes(0, sets)) / static_cast<std::int64_t>(sizeof(float));
  return chunk > most ? beyond_range("chunk", chunk, most) + " keys at d = " + std::to_string(p.head_dim()) +
                            ", dv = " + std::to_string(p.value_dim()) + " (shared memory)"
                      : dims_unsupported(p);
}

constexpr Arithmetic split_kv_arithmetic(Format partial_o) {
  return {.reduction = Reduction::chunk_deferred,
          .exp_error = kDetExpError,
          .log_error = kDetLogError,
          .tanh_error = kDetTanhError,
          .lanes = kSplitKvThreads,
          .dot = {.chains = kSetColumns},
          .values = {.chains = kKeyGroups},
          .split = {.parts = kParts, .partial_o = partial_o},
          .ending = Ending::divide};
}

namespace {

constexpr Format kF16[] = {Format::f16};
constexpr Format kBf16[] = {Format::bf16};

template <bool kNarrow>
KernelDeclaration split_kv(std::string_view id, std::span<const Format> formats, Format partial_o) {
  return {.id = id,
          .problem = ProblemKind::attention,
          .form = Form::hardened,
          .formats = formats,
          .contract = {.isolates_hidden = true},
          .arithmetic = split_kv_arithmetic(partial_o),
          .unsupported = hardened_refusal(split_kv_unsupported),
          .launch = launch_attention_split_kv<kNarrow>,
          .workspace = split_kv_workspace<kNarrow>};
}

}  // namespace

std::span<const KernelDeclaration> attention_split_kv() {
  static const KernelDeclaration declarations[] = {
      split_kv<false>("attention.split_kv.hardened", kStorageFormats, Format::f32),
      split_kv<true>("attention.split_kv_f16.hardened", kF16, Format::f16),
      split_kv<true>("attention.split_kv_bf16.hardened", kBf16, Format::bf16),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
