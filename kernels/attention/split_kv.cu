#include "kernels/attention/split_kv.h"

namespace flashproof::FP_EXECUTOR {

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
