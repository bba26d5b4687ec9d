#include "reference/bound/declare/named_presets.h"

#include <fmt/format.h>

#include <vector>

#include "reference/bound/declare/foreign_presets.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr unsigned bit(Format format) { return 1U << static_cast<unsigned>(format); }
constexpr unsigned kF32 = bit(Format::f32);
constexpr unsigned kHalf = bit(Format::f16) | bit(Format::bf16);
constexpr unsigned kE4m3 = bit(Format::e4m3fn);
constexpr unsigned kFp8 = kE4m3 | bit(Format::e5m2);

struct Entry {
  ArithmeticPreset preset;
  unsigned formats;  // of the inputs
  Arithmetic (*make)(Format inputs);
};

using namespace presets;

constexpr Entry kAttention[] = {
    {{"fa2_sm80", "FlashAttention-2 on Ampere and later, any head dimension, num_splits 1"}, kHalf, foreign_fa2},
    {{"fa3_sm90", "FlashAttention-3 on Hopper; e4m3fn with the 13-bit accumulator of wgmma"},
     kHalf | kE4m3,
     foreign_fa3},
    {{"fa4_sm100", "FlashAttention-4 on Blackwell: lazy frames, exp2 by a polynomial"}, kHalf, foreign_fa4},
    {{"triton", "Triton: tl.dot into f32 (f32 inputs: ieee, no tf32), exp2, blocks of 16 or more"},
     kF32 | kHalf,
     foreign_triton},
    {{"pytorch_math", "PyTorch SDPA, math backend: everything in f32, tf32 off"}, kF32 | kHalf, foreign_pytorch_math},
    {{"pytorch_efficient", "PyTorch SDPA, memory-efficient backend (CUTLASS, xFormers)"},
     kF32 | kHalf,
     foreign_pytorch_efficient},
    {{"cudnn", "cuDNN: closed source, so the widest fused kernel of this list"}, kHalf, foreign_cudnn},
    {{"jax_xla", "jax.nn.dot_product_attention, implementation xla; f32: precision highest"},
     kF32 | kHalf,
     foreign_jax_xla},
    {{"unknown", "nothing known: the bound of any of the above, tf32 excepted"}, kF32 | kHalf | kFp8, foreign_unknown},
};

constexpr Entry kSoftmax[] = {
    {{"pytorch_softmax", "torch.softmax on a GPU: the maximum first, sums in 32 lanes"},
     kF32 | kHalf,
     foreign_pytorch_softmax},
    {{"pytorch_softmax_cpu", "torch.softmax on a CPU: sums in 8 lanes, times 1/sum"},
     kF32 | kHalf,
     foreign_pytorch_softmax_cpu},
    {{"unknown", "nothing known: two passes or online, sums in any order"}, kF32 | kHalf, foreign_unknown_softmax},
};

constexpr Entry kMerge[] = {
    {{"flat", "one maximum, f32 expf, one division"}, kF32 | kHalf, foreign_flat},
    {{"vllm_merge", "vLLM merge_attn_states"}, kF32 | kHalf, [](Format) { return kVllmMerge; }},
    {{"flashinfer_merge", "FlashInfer merge_states"}, kF32 | kHalf, [](Format) { return kFlashinferMerge; }},
    {{"fa2_combine", "FlashAttention-2 combine_attn_seqk_parallel"}, kF32 | kHalf, [](Format) { return kFa2Combine; }},
    {{"ring_attention", "ring attention's update of (o, lse), before its sigmoid form"},
     kF32 | kHalf,
     [](Format) { return kRingAttention; }},
    {{"unknown", "nothing known: flat or folded in order, the bound of any of the above"},
     kF32 | kHalf,
     foreign_unknown_merge},
};

std::span<const Entry> entries(ProblemKind problem) {
  if (problem == ProblemKind::softmax) return kSoftmax;
  if (problem == ProblemKind::merge) return kMerge;
  return kAttention;
}

const Entry& entry(std::string_view name, ProblemKind problem) {
  std::vector<std::string_view> names;
  for (const Entry& e : entries(problem)) {
    if (e.preset.name == name) return e;
    names.push_back(e.preset.name);
  }
  throw UsageError(fmt::format("arithmetic: preset {} of {}: legal: {}{}", quote(name), flashproof::name(problem),
                               fmt::join(names, ", "), did_you_mean(name, names)));
}

bool takes(const Entry& e, Format inputs) { return (e.formats & bit(inputs)) != 0; }

template <std::size_t N>
std::vector<ArithmeticPreset> listed(const Entry (&list)[N]) {
  std::vector<ArithmeticPreset> result;
  for (const Entry& e : list) result.push_back(e.preset);
  return result;
}

}  // namespace

std::span<const ArithmeticPreset> arithmetic_presets(ProblemKind problem) {
  static const std::vector<ArithmeticPreset> kLists[] = {listed(kSoftmax), listed(kMerge), listed(kAttention)};
  return kLists[problem == ProblemKind::softmax ? 0 : problem == ProblemKind::merge ? 1 : 2];
}

bool preset_takes(std::string_view name, ProblemKind problem, Format inputs) {
  return takes(entry(name, problem), inputs);
}

namespace bound {

Arithmetic named_preset(std::string_view name, ProblemKind problem, Format inputs) {
  const Entry& found = entry(name, problem);
  if (takes(found, inputs)) return found.make(inputs);
  std::vector<std::string_view> legal;
  for (const Format format : kAllFormats) {
    if (takes(found, format)) legal.push_back(info(format).name);
  }
  throw UsageError(
      fmt::format("arithmetic: preset {}: inputs are {}, legal: {}", name, info(inputs).name, fmt::join(legal, ", ")));
}

}  // namespace bound
}  // namespace flashproof
