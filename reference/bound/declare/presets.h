// The field's kernels as declarations, with where each figure comes from. They describe published sources, not binaries:
// what a build does beyond that (contraction, -use_fast_math) is named where it is assumed. A k-group is 16 neighbours.
//
// Errors of the device functions: PTX ISA for ex2, lg2, rcp and tanh, the CUDA guide for __logf and __fdividef, exhaustive
// measurement (LLVM's GPU conformance suite) for expf and logf. A report should use a measured profile instead.
#pragma once

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof::presets {

inline constexpr double kUlp = 0x1p-23;                // the largest one ulp is, relatively
inline constexpr double kEx2Approx = 2.5 * kUlp;       // 2 ulp from the correctly rounded result
inline constexpr double kExpf = 2.5 * kUlp;            // 2 ulp measured
inline constexpr double kLogf = 1.5 * kUlp;            // 1 ulp measured
inline constexpr double kFastLog = 3.5 * kUlp;         // __logf: 3 ulp outside [0.5, 2] ...
inline constexpr double kFastLogAbsolute = 0x1.9p-22;  // ... and 2^-21.41 = 0x1.81p-22 inside
inline constexpr double kLg2Approx = 0x1p-22;          // lg2.approx: relative outside (0.5, 2) ...
inline constexpr double kLg2Absolute = 0x1p-22;        // ... and absolute inside; in nats that is less
inline constexpr double kRcpApprox = kUlp;             // 1 ulp
inline constexpr double kFastDivide = 2.5 * kUlp;      // 2 ulp
inline constexpr double kTanhApprox = 0x1p-11;         // relative in the ISA; |tanh| <= 1
inline constexpr double kExp2Degree3 = 8.9e-5;         // FlashAttention-4's polynomial

/// FlashAttention-2, csrc/flash_attn/src/softmax.h and flash_fwd_kernel.h, sm_80, built with -use_fast_math: raw scores,
/// exp2(fma(x, ĉ, −fl(m·ĉ))), four threads of a quad share a row and add every weight to their running sum, P in the
/// input's format, 1/l by division, lse = m·scale + __logf(l).
constexpr Arithmetic fa2_sm80(Format stored) {
  return {.reduction = Reduction::chunk_deferred,
          .exponent = Exponent::fused,
          .unit = ScoreUnit::raw,
          .exp_error = kEx2Approx,
          .log_error = kFastLog,
          .log_absolute = kFastLogAbsolute,
          .reciprocal_error = kFastDivide,
          .tanh_error = kTanhApprox,
          .lanes = 4,
          .deal = 2,  // the registers of an mma
          .dot = {.unit = kAmpereF16},
          .values = {.chains = 1, .unit = kAmpereF16},
          .weights = {.format = stored},
          .running_lanes = true,
          .lse_form = LseForm::scaled_max_plus_log,
          .ending = Ending::multiply_reciprocal,
          .underflow = Underflow::flush};
}
inline constexpr Arithmetic kFa2Sm80F16 = fa2_sm80(Format::f16);
inline constexpr Arithmetic kFa2Sm80Bf16 = fa2_sm80(Format::bf16);

/// The same with split keys: combine_attn_seqk_parallel takes e^{λ_c − λ̂} and divides by nothing.
constexpr Arithmetic fa2_split(int parts) {
  Arithmetic a = kFa2Sm80F16;
  a.split = {.parts = parts, .combine = Reduction::flat, .weights = MergeWeights::division_free};
  return a;
}
inline constexpr Arithmetic kFa2Split4 = fa2_split(4);

/// FlashAttention-3, hopper/softmax.h and mainloop_fwd_sm90_tma_gmma_ws.hpp: wgmma; lse = m·(ĉ·ln 2) + __logf(l).
constexpr Arithmetic fa3_sm90(Format stored) {
  Arithmetic a = fa2_sm80(stored);
  a.dot.unit = kHopperF16;
  a.values.unit = kHopperF16;
  a.lse_form = LseForm::base2;
  return a;
}
inline constexpr Arithmetic kFa3Sm90F16 = fa3_sm90(Format::f16);
inline constexpr Arithmetic kFa3Sm90Bf16 = fa3_sm90(Format::bf16);

/// FlashAttention-3 fp8: wgmma's 13-bit accumulator in both products, P = e4m3 of 2^8 e^{s−m} (max_offset = 8).
constexpr Arithmetic fa3_fp8(int promote) {
  Arithmetic a = fa3_sm90(Format::e4m3fn);
  a.dot.unit = kHopperWgmmaFp8;
  a.values.unit = kHopperWgmmaFp8;
  a.values.promote = promote;
  a.weights.scale = 256;
  return a;
}
inline constexpr Arithmetic kFa3Sm90Fp8 = fa3_fp8(0);
/// With two-level accumulation of p·v, as vLLM's fork and DeepGEMM have it: every 128 products to f32.
inline constexpr Arithmetic kFa3Sm90Fp8Promoted = fa3_fp8(128);

/// FlashAttention-3's combine kernel: weights e^{λ_c − max} over their sum.
constexpr Arithmetic fa3_split(int parts) {
  Arithmetic a = kFa3Sm90F16;
  a.split = {.parts = parts, .combine = Reduction::flat, .weights = MergeWeights::shifted};
  return a;
}
inline constexpr Arithmetic kFa3Split4 = fa3_split(4);

/// FlashAttention-4, flash_attn/cute/softmax.py: the frame rises only beyond 8 octaves, exp2 partly by a polynomial of
/// degree 3; tcgen05 has Hopper's K, F and ofb.
constexpr Arithmetic fa4_sm100() {
  Arithmetic a = kFa3Sm90Bf16;
  a.exp_error = kExp2Degree3;
  a.log_error = kLg2Approx;
  a.log_absolute = kLg2Absolute;
  a.lazy_log2 = 8;
  return a;
}
inline constexpr Arithmetic kFa4Sm100Bf16 = fa4_sm100();

/// Triton's tutorial 06-fused-attention: l = l·α + sum(p), acc = dot(p, v, acc), o = acc / l (div.full: 2 ulp, here by a
/// reciprocal of as much). Its frames are scaled and rounded before they are subtracted, which errs less than `fused`
/// declares. `unfused`: PyTorch's UNFUSE_FMA and builds without contraction.
constexpr Arithmetic triton(Exponent exponent) {
  Arithmetic a = fa2_sm80(Format::f16);
  a.exponent = exponent;
  a.lanes = 32;
  a.deal = 1;
  a.running_lanes = false;
  a.reciprocal_error = kFastDivide;
  a.lse_form = LseForm::base2;
  a.underflow = Underflow::gradual;
  return a;
}
inline constexpr Arithmetic kTritonFused = triton(Exponent::fused);
inline constexpr Arithmetic kTritonUnfused = triton(Exponent::unfused);

/// PyTorch's math backend in f32: scores, softmax (one block per row, 1024 threads), bmm, each in full.
inline constexpr Arithmetic kPytorchMath = {.reduction = Reduction::row_resident,
                                            .exponent = Exponent::accurate,
                                            .exp_error = kExpf,
                                            .log_error = kLogf,
                                            .tanh_error = kUlp,
                                            .lanes = 1024,
                                            .dot = {.chains = 1},
                                            .ending = Ending::divide};

/// The same with TensorFloat-32 matrix products.
constexpr Arithmetic pytorch_math_tf32() {
  Arithmetic a = kPytorchMath;
  a.dot = {.unit = kAmpereTf32, .tf32_inputs = true};
  a.values = {.unit = kAmpereTf32, .tf32_inputs = true};
  return a;
}
inline constexpr Arithmetic kPytorchMathTf32 = pytorch_math_tf32();

/// FlashAttention-1, algorithm 1 of Dao et al. 2022, in f16.
constexpr Arithmetic fa1() {
  Arithmetic a = kFa2Sm80F16;
  a.reduction = Reduction::chunk_normalized;
  a.running_lanes = false;
  return a;
}
inline constexpr Arithmetic kFa1F16 = fa1();

/// FlashInfer's state_t (attention/state.cuh) across a block: (m, d, o) merged un-normalised, normalised once.
constexpr Arithmetic flashinfer_split(int parts) {
  Arithmetic a = kFa2Sm80F16;
  a.split = {.parts = parts, .combine = Reduction::pairwise_fold, .weights = MergeWeights::max_sum};
  return a;
}
inline constexpr Arithmetic kFlashinferSplit4 = flashinfer_split(4);

/// Merges. FlashAttention-2's combine; FlashInfer's merge_states; vLLM's merge_attn_states; ring attention's update.
constexpr Arithmetic merge(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction,
          .exponent = Exponent::scaled_exp2,
          .exp_error = kEx2Approx,
          .log_error = kFastLog,
          .log_absolute = kFastLogAbsolute,
          .reciprocal_error = kFastDivide,
          .merge_weights = weights,
          .ending = Ending::multiply_reciprocal,
          .underflow = Underflow::flush};
}
constexpr Arithmetic fa2_combine() {
  Arithmetic a = merge(Reduction::flat, MergeWeights::division_free);
  a.ending = Ending::divide;  // there is none
  return a;
}
inline constexpr Arithmetic kFa2Combine = fa2_combine();
inline constexpr Arithmetic kVllmMerge = merge(Reduction::flat, MergeWeights::shifted);
inline constexpr Arithmetic kFlashinferMerge = merge(Reduction::pairwise_fold, MergeWeights::max_sum);
/// zhuzilin/ring-flash-attention before its sigmoid form: lse' = lse + log(1 + e^{lse_c − lse}), both weights from it.
inline constexpr Arithmetic kRingAttention = {.reduction = Reduction::pairwise_fold,
                                              .exponent = Exponent::accurate,
                                              .exp_error = kExpf,
                                              .log_error = kLogf,
                                              .merge_weights = MergeWeights::running};
inline constexpr Arithmetic kTreeMerge = merge(Reduction::pairwise_tree, MergeWeights::stable);

/// PyTorch's softmax: cunn_SoftMaxForward, the maximum first, block reductions of 1024 threads.
inline constexpr Arithmetic kPytorchSoftmax = {.reduction = Reduction::two_pass,
                                               .exponent = Exponent::accurate,
                                               .exp_error = kExpf,
                                               .log_error = kLogf,
                                               .lanes = 1024,
                                               .warps = 32,
                                               .ending = Ending::divide};
/// quack's online softmax over several blocks of a cluster: (max, sum) per block, combined once; fastmath exponentials.
inline constexpr Arithmetic kQuackSoftmax = {.reduction = Reduction::chunk_states,
                                             .exponent = Exponent::fused,
                                             .exp_error = kEx2Approx,
                                             .log_error = kLogf,
                                             .reciprocal_error = kRcpApprox,
                                             .lanes = 128,
                                             .warps = 4,
                                             .merge_weights = MergeWeights::max_sum,
                                             .ending = Ending::multiply_reciprocal,
                                             .underflow = Underflow::flush};

/// Every preset with the problem and the format of its inputs (of e4m3fn: numbers of that format held in f16).
struct Preset {
  const char* name;
  ProblemKind problem;
  Format inputs;
  Arithmetic arithmetic;
};
inline constexpr Preset kPresets[] = {
    {"fa2_sm80_f16", ProblemKind::attention, Format::f16, kFa2Sm80F16},
    {"fa2_sm80_bf16", ProblemKind::attention, Format::bf16, kFa2Sm80Bf16},
    {"fa2_split4", ProblemKind::attention, Format::f16, kFa2Split4},
    {"fa3_sm90_f16", ProblemKind::attention, Format::f16, kFa3Sm90F16},
    {"fa3_sm90_bf16", ProblemKind::attention, Format::bf16, kFa3Sm90Bf16},
    {"fa3_sm90_fp8", ProblemKind::attention, Format::e4m3fn, kFa3Sm90Fp8},
    {"fa3_sm90_fp8_promoted", ProblemKind::attention, Format::e4m3fn, kFa3Sm90Fp8Promoted},
    {"fa3_split4", ProblemKind::attention, Format::f16, kFa3Split4},
    {"fa4_sm100_bf16", ProblemKind::attention, Format::bf16, kFa4Sm100Bf16},
    {"triton_fused", ProblemKind::attention, Format::f16, kTritonFused},
    {"triton_unfused", ProblemKind::attention, Format::f16, kTritonUnfused},
    {"pytorch_math", ProblemKind::attention, Format::f32, kPytorchMath},
    {"pytorch_math_tf32", ProblemKind::attention, Format::f32, kPytorchMathTf32},
    {"fa1_f16", ProblemKind::attention, Format::f16, kFa1F16},
    {"flashinfer_split4", ProblemKind::attention, Format::f16, kFlashinferSplit4},
    {"fa2_combine", ProblemKind::merge, Format::f32, kFa2Combine},
    {"vllm_merge", ProblemKind::merge, Format::bf16, kVllmMerge},
    {"flashinfer_merge", ProblemKind::merge, Format::f16, kFlashinferMerge},
    {"ring_attention", ProblemKind::merge, Format::f32, kRingAttention},
    {"tree_merge", ProblemKind::merge, Format::f32, kTreeMerge},
    {"pytorch_softmax", ProblemKind::softmax, Format::f32, kPytorchSoftmax},
    {"quack_softmax", ProblemKind::softmax, Format::bf16, kQuackSoftmax},
};

}  // namespace flashproof::presets
