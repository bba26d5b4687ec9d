#include <fmt/format.h>

#include <algorithm>

#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/declare/foreign_presets.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using namespace presets;

bool is_half(Format format) { return format == Format::f16 || format == Format::bf16; }

/// The sums over keys and queries: in any order and in blocks of any size from the unit's K on (section 8). dk and dv of
/// a head are stored in `partial` before the heads of a group are added.
void set_sums(BackwardArithmetic& a, const Products& products, Format partial) {
  a.dq = {.products = products};
  a.dk = a.dv = {.products = products, .heads_apart = true, .partial = partial};
}

/// csrc/flash_attn/src/flash_bwd_kernel.h, flash_bwd_preprocess_kernel.h, mha_bwd of flash_api.cpp, sm_80.
BackwardArithmetic fa2(Format inputs) {
  const Products unit{.unit = kAmpereF16};
  BackwardArithmetic a{.exponent = Exponent::fused,
                       .unit = ScoreUnit::raw,
                       .exp_error = kEx2Approx,
                       .dot = unit,
                       .products = unit,
                       .row_sum = {.chains = 1},
                       .p = inputs,
                       .ds = inputs,
                       .underflow = Underflow::flush};
  set_sums(a, unit, inputs);
  return a;
}

/// aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_backward.h.
BackwardArithmetic efficient(Format inputs) {
  const Products unit{.unit = is_half(inputs) ? kVoltaF16 : kThreeTf32};
  BackwardArithmetic a{.exponent = Exponent::scaled_exp2,
                       .exp_error = std::max(kEx2Approx, kExpf),
                       .dot = unit,
                       .products = unit,
                       .row_sum = {.chains = 1},
                       .p = inputs,
                       .ds = inputs,
                       .scale = GradientScale::weights,
                       .stored_weights = true,
                       .underflow = Underflow::flush};
  set_sums(a, unit, inputs);
  return a;
}

/// _scaled_dot_product_attention_math of aten/src/ATen/native/transformers/attention.cpp, by autograd, in f32.
BackwardArithmetic math() {
  const Products chain{.chains = 1};
  BackwardArithmetic a{.exp_error = 4 * kUlp,
                       .dot = chain,
                       .products = chain,
                       .row_sum = chain,
                       .factors_scaled = true,
                       .delta = DeltaSum::weights,
                       .apart = true,
                       .underflow = Underflow::flush};
  set_sums(a, chain, Format::f32);
  return a;
}

/// jax/_src/nn/functions.py, _dot_product_attention_core, and _softmax_jvp, by jax.vjp.
BackwardArithmetic jax_xla(Format inputs) {
  const Products products{.chains = 1, .unit = is_half(inputs) ? kVoltaF16 : BlockFma{}};
  BackwardArithmetic a{.exp_error = 8 * kUlp,
                       .dot = products,
                       .products = products,
                       .row_sum = {.chains = 1},
                       .p = inputs,
                       .ds = inputs,
                       .scale = GradientScale::weights,
                       .dp = inputs,
                       .delta = DeltaSum::weights,
                       .apart = true,
                       .underflow = Underflow::flush};
  set_sums(a, products, inputs);
  a.dk.heads_any = a.dv.heads_any = true;
  return a;
}

/// What a fused kernel does at its widest: the counterpart of widest_fused().
std::vector<BackwardArithmetic> any_fused(Format inputs) {
  const Products unit{.unit = is_half(inputs) ? kVoltaF16 : kThreeTf32};
  BackwardArithmetic a{.exponent = Exponent::unfused,
                       .exp_error = is_half(inputs) ? kExp2Degree3 : 4 * kUlp,
                       .dot = unit,
                       .products = unit,
                       .row_sum = {.chains = 1},
                       .p = inputs,
                       .ds = inputs,
                       .stored_weights = true,
                       .underflow = Underflow::flush};
  set_sums(a, unit, inputs);
  a.dk.heads_any = a.dv.heads_any = true;
  std::vector<BackwardArithmetic> list;
  for (const ScoreUnit score : {ScoreUnit::natural, ScoreUnit::raw}) {
    for (const GradientScale scale : {GradientScale::output, GradientScale::weights}) {
      a.unit = score;
      a.scale = scale;
      list.push_back(a);
    }
  }
  return list;
}

std::vector<BackwardArithmetic> any(Format inputs) {
  std::vector<BackwardArithmetic> list = any_fused(inputs);
  list.push_back(math());
  list.push_back(jax_xla(inputs));
  return list;
}

struct Entry {
  ArithmeticPreset preset;
  std::vector<BackwardArithmetic> (*make)(Format inputs);
};

constexpr Entry kEntries[] = {
    {{"fa2_sm80", "FlashAttention-2 on Ampere and later: P and dS in the inputs' format, dq by atomics in f32"},
     [](Format f) { return std::vector{fa2(f)}; }},
    {{"pytorch_math", "PyTorch SDPA, math backend, by autograd: everything in f32, tf32 off, the softmax kept"},
     [](Format) { return std::vector{math()}; }},
    {{"pytorch_efficient", "PyTorch SDPA, memory-efficient backend: dS from the stored P, scaled before it is stored"},
     [](Format f) { return std::vector{efficient(f)}; }},
    {{"cudnn", "cuDNN: closed source, so any fused kernel at its widest"}, any_fused},
    {{"jax_xla", "jax.nn.dot_product_attention by jax.vjp: dP, P and dS in the inputs' format; f32: precision highest"},
     [](Format f) { return std::vector{jax_xla(f)}; }},
    {{"unknown", "nothing known: the bound of any of the above, tf32 excepted"}, any},
};

}  // namespace

std::span<const ArithmeticPreset> gradient_presets() {
  static const std::vector<ArithmeticPreset> kList = [] {
    std::vector<ArithmeticPreset> list;
    for (const Entry& entry : kEntries) list.push_back(entry.preset);
    return list;
  }();
  return kList;
}

GradientArithmetic gradient_preset(std::string_view name, Format inputs) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) {
    names.push_back(entry.preset.name);
    if (entry.preset.name != name) continue;
    if (!is_half(inputs) && inputs != Format::f32) {
      throw UsageError(fmt::format("arithmetic: preset {} of gradients: inputs are {}, legal: f32, f16, bf16", name,
                                   info(inputs).name));
    }
    return {parse_arithmetic(name, ProblemKind::attention, inputs), entry.make(inputs)};  // refuses a format of its own
  }
  throw UsageError(fmt::format("arithmetic: preset {} of attention_backward: legal: {}{}", quote(name),
                               fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace flashproof
