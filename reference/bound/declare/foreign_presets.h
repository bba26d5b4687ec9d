// Kernels of others as they are published, in the families that named_presets.cc lists. Unlike presets.h, whose declarations
// are one build each, these hold for every tile shape that the source instantiates: blocks in any order, the smallest first.
// Who knows more declares more, and gets a smaller bound: {"preset": "fa2_sm80", "block": 128, "visits": "descending"}.
#pragma once

#include <algorithm>

#include "reference/bound/declare/presets.h"

namespace flashproof::presets {

/// For f32 factors. CUTLASS's OpMultiplyAddFastF32 (gemm/warp/mma_tensor_op_fast_f32.h) makes three tf32 products of one. The large
/// part of a factor is cut to 10 fraction bits, the small one, below 2^-10 of it, rounded to as many; their product of two small
/// parts is left out. That loses 2^-20 + 2·2^-22, 24 units of 2^-24 a product, and two steps of an Ampere unit (K = 4, F = 24: 6
/// units each) follow it at its full size: 36, where one step of a unit of F = 21 loses 42, and two lose 84 where six steps and the
/// 24 make 60.
inline constexpr BlockFma kThreeTf32 = {.k = 4, .f = 21, .ofb = 23};

/// Of a sum that threads share: up to 7 neighbours of a 16-byte vector that follow a key in its thread's chain, then 10 levels of
/// a block of 1024 threads. A lane declared has the chain's other additions: its keys come in the order of their positions, as a
/// thread's do. A library's matrix product that splits the keys joins no more parts one after another.
inline constexpr int kBlockJoins = 17;

constexpr Arithmetic in_any_order(Arithmetic a, int block) {
  a.block = block;
  a.visits = BlockOrder::any;
  return a;
}

/// csrc/flash_attn/src/flash_fwd_launch_template.h: kBlockN is 32, 64 or 128 by head dimension; flash_fwd_kernel.h visits
/// from the last block to the first, the masked ones apart. Without split keys, which flash_api.cpp chooses by itself where there are
/// few rows (num_splits = 0), and without slopes under a causal window: README.md, section 9.
constexpr Arithmetic foreign_fa2(Format inputs) { return in_any_order(fa2_sm80(inputs), 32); }

/// hopper/tile_size.h: kBlockN is 64..224, a multiple of 16; of fp8 one of 32. A lane adds its keys to the running sum one by one,
/// as running_lanes has it, or (later versions of softmax.h) a tile's among themselves and then to it: one addition more.
constexpr Arithmetic foreign_fa3(Format inputs) {
  Arithmetic a = inputs == Format::e4m3fn ? fa3_fp8(0) : fa3_sm90(inputs);
  a.lane_joins = 3;  // that one and the quad's butterfly
  return in_any_order(a, inputs == Format::e4m3fn ? 32 : 16);
}

/// flash_attn/cute/flash_fwd_sm100.py: n_block_size 128; 64 allows for others.
constexpr Arithmetic foreign_fa4(Format inputs) {
  Arithmetic a = fa4_sm100();
  a.weights.format = inputs;
  return in_any_order(a, 64);
}

/// tl.dot accumulates in f32 on the tensor cores (of f32 inputs under input_precision="ieee": chains of fma), whose Ampere
/// form errs by most per product of those that Triton targets with bf16; tiles are 16 keys or more. P in the inputs' format, as
/// the tutorials cast it. tl.sum is some tree over threads that add in order: one lane, and kBlockJoins. acc / l is div.full.f32, 2 ulp.
/// exp2(qk·scale − m) contracts to an fma (but in causal blocks: README.md, section 9); kernels built without fp fusion declare
/// "exponent": "unfused", those of tl.exp of scaled scores "exponent": "scaled_exp2", "unit": "natural".
constexpr Arithmetic foreign_triton(Format inputs) {
  Arithmetic a = triton(Exponent::fused);
  a.lanes = 1;
  a.weights.format = inputs;
  a.lane_joins = kBlockJoins;
  a.underflow = Underflow::flush;  // ex2.approx.ftz where it is asked for
  if (inputs == Format::f32) a.dot = a.values = {.chains = 1};
  return in_any_order(a, 16);
}

/// aten/src/ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math: f16 and bf16 inputs are converted to
/// f32 (unless allow_fp16_bf16_reduction_math_sdp), the result back. q and k are both multiplied by the rounded root of the
/// scale, before the product: four roundings where query_scaled has one. Matrix products are a library's, in any order: one
/// chain is the deepest. A unit of K = 4 and F = 23 loses 12 units of 2^-24 in four f32 products, which covers both for every
/// head dimension. The softmax is pytorch_softmax on a GPU, pytorch_softmax_cpu elsewhere: the latter's lanes and ending, which beside
/// the scores' errors cost less than one per cent. Keys whose score is −inf may pile up the others in one lane: then declare "lanes": 1.
constexpr Arithmetic foreign_pytorch_math(Format /*inputs*/) {
  Arithmetic a = kPytorchMath;
  a.lanes = 8;
  a.ending = Ending::multiply_reciprocal;
  a.lane_joins = kBlockJoins;
  a.query_scaled = true;
  a.dot.unit = kVoltaF16;
  return a;
}

/// aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h (xFormers): scores scaled, bias added, times
/// log2 e, the maximum of these, exp2f of the difference: unfused. s' = s'·α + the block's sum, over threads and warps; P in
/// the inputs' format; 1/s' in the epilogue; lse = m/log2 e + fast_log(s'). kKeysPerBlock 64 or 128; mma of sm_70 and later.
constexpr Arithmetic foreign_pytorch_efficient(Format inputs) {
  Arithmetic a = fa2_sm80(inputs);
  a.exponent = Exponent::unfused;
  a.unit = ScoreUnit::natural;
  a.lanes = 1;
  a.lane_joins = kBlockJoins;
  a.deal = 1;
  a.running_lanes = false;
  a.dot.unit = a.values.unit = inputs == Format::f32 ? kThreeTf32 : kVoltaF16;
  a.lse_form = LseForm::base2;
  return in_any_order(a, 64);
}

/// What any fused kernel of this list does, at its widest; a lane alone with kBlockJoins has the most additions, but for a butterfly
/// over idle lanes where there are few keys: the functions' errors, 4 ulp, have room for that. So: raw scores, rounded products of score and frame, the coarsest
/// accumulation, sums in any order, P in the inputs' format, lazy frames and a polynomial exp2 where the inputs are narrow
/// enough for them (FlashAttention-4's figures), the widest logarithm, reciprocal and lse.
constexpr Arithmetic widest_fused(Format inputs) {
  const bool half = inputs == Format::f16 || inputs == Format::bf16;
  const bool fp8 = info(inputs).bits == 8;
  Arithmetic a = fa2_sm80(inputs);
  a.exponent = Exponent::unfused;
  a.exp_error = half || fp8 ? kExp2Degree3 : 4 * kUlp;
  a.reciprocal_error = 4 * kUlp;
  a.log_error = std::max({kFastLog, kLg2Approx, 4 * kUlp});
  a.log_absolute = 2 * std::max(kFastLogAbsolute, kLg2Absolute);
  a.lanes = 1;
  a.lane_joins = kBlockJoins;
  a.deal = 1;
  a.running_lanes = false;
  a.dot.unit = a.values.unit = fp8 ? kHopperWgmmaFp8 : half ? kVoltaF16 : kThreeTf32;
  a.lazy_log2 = half || fp8 ? 8 : 0;
  a.lse_form = LseForm::base2;
  return in_any_order(a, fp8 ? 32 : 16);
}

/// Closed source; NVIDIA/cudnn-frontend says no more than that the softmax is online and P has the inputs' format.
constexpr Arithmetic foreign_cudnn(Format inputs) { return widest_fused(inputs); }

/// jax/_src/nn/functions.py, _dot_product_attention_core: einsum with preferred_element_type f32, logits times the scale in
/// f32, bias, softmax in f32, probabilities cast to the value's format, einsum. The division may be div.full (2 ulp); XLA's exp
/// and log: 4 ulp assumed; on CPU it flushes subnormals. f32 inputs on a GPU: tf32 unless jax_default_matmul_precision says
/// highest.
constexpr Arithmetic foreign_jax_xla(Format inputs) {
  Arithmetic a = kPytorchMath;
  a.exp_error = a.log_error = 4 * kUlp;
  a.lanes = 1;
  a.lane_joins = kBlockJoins;
  if (inputs != Format::f32) a.dot.unit = kVoltaF16;
  a.values = a.dot;
  a.values.chains = 1;
  a.weights.format = inputs;
  a.reciprocal_error = kFastDivide;
  a.ending = Ending::multiply_reciprocal;
  a.underflow = Underflow::flush;
  return a;
}

/// The alternatives of widest_fused(): alternatives.h.
constexpr Arithmetic foreign_unknown(Format inputs) {
  Arithmetic a = widest_fused(inputs);
  a.reduction = Reduction::any;
  return a;
}

/// aten/src/ATen/native/cuda/SoftMax.cu and PersistentSoftmax.cuh: a warp per row up to 1024 columns, 32 lanes; beyond that
/// as many as 1024 threads, each with fewer columns. Columns of −inf may pile up the others in one lane: then "lanes": 1.
constexpr Arithmetic foreign_pytorch_softmax(Format /*inputs*/) {
  Arithmetic a = kPytorchSoftmax;
  a.lanes = 32;
  a.lane_joins = kBlockJoins;
  a.warps = 1;
  return a;
}

/// aten/src/ATen/native/cpu/SoftMaxKernel.cpp, _vec_softmax_lastdim: vectors of 8 or more, whose lanes add every 8th column, then a
/// tree, then (16-bit inputs) up to 7 columns left over; e^x of Sleef (1 ulp) times fl(1/l).
constexpr Arithmetic foreign_pytorch_softmax_cpu(Format inputs) {
  Arithmetic a = foreign_pytorch_softmax(inputs);
  a.lanes = 8;
  a.lane_joins = 10;  // 3 levels, 7 columns
  a.ending = Ending::multiply_reciprocal;
  return a;
}

/// Online, column by column: no sum of weights has more rescales, none more additions after a key.
constexpr Arithmetic foreign_unknown_softmax(Format /*inputs*/) {
  return {.reduction = Reduction::any,
          .exponent = Exponent::unfused,
          .exp_error = 4 * kUlp,
          .log_error = std::max({kFastLog, kLg2Approx, 4 * kUlp}),
          .log_absolute = std::max(kFastLogAbsolute, kLg2Absolute),
          .reciprocal_error = kFastDivide,
          .lanes = 1,
          .warps = 1,
          .block = 1,
          .visits = BlockOrder::any,
          .ending = Ending::multiply_reciprocal,
          .underflow = Underflow::flush};
}

constexpr Arithmetic foreign_flat(Format /*inputs*/) {
  return {.reduction = Reduction::flat,
          .exponent = Exponent::accurate,
          .exp_error = kExpf,
          .log_error = kLogf,
          .merge_weights = MergeWeights::shifted};
}

constexpr Arithmetic foreign_unknown_merge(Format /*inputs*/) {
  Arithmetic a = merge(Reduction::any, MergeWeights::shifted);
  a.exp_error = 4 * kUlp;
  a.log_error = std::max({kFastLog, kLg2Approx, 4 * kUlp});
  return a;
}

}  // namespace flashproof::presets
