#include "kernels/ptx/map/names.h"

#include <array>

namespace flashproof::ptx {
namespace {

using Call = flashproof_call;

const flashproof_attention& attention(const Call& call) {
  return call.attention_backward != nullptr ? *call.attention_backward->forward : *call.attention;
}

template <auto kMember>
const flashproof_tensor* output(const Call& call) {
  return call.*kMember;
}
template <auto kMember>
const flashproof_tensor* of_softmax(const Call& call) {
  return call.softmax->*kMember;
}
template <auto kMember>
const flashproof_tensor* of_merge(const Call& call) {
  return call.merge->*kMember;
}
template <auto kMember>
const flashproof_tensor* of_attention(const Call& call) {
  return attention(call).*kMember;
}
template <auto kMember>
const flashproof_tensor* of_backward(const Call& call) {
  return call.attention_backward->*kMember;
}

using A = flashproof_attention;

constexpr std::array kSoftmaxTensors = {
    TensorName{"x", 2, false, of_softmax<&flashproof_softmax::x>},
    TensorName{"row_length", 1, false, of_softmax<&flashproof_softmax::row_length>},
    TensorName{"o", 2, true, output<&Call::o>},
    TensorName{"lse", 1, true, output<&Call::lse>},
};
constexpr std::array kMergeTensors = {
    TensorName{"o_in", 3, false, of_merge<&flashproof_merge::o>},
    TensorName{"lse_in", 2, false, of_merge<&flashproof_merge::lse>},
    TensorName{"l_in", 2, false, of_merge<&flashproof_merge::l>},
    TensorName{"order", 1, false, of_merge<&flashproof_merge::order>},
    TensorName{"joins", 2, false, of_merge<&flashproof_merge::joins>},
    TensorName{"o", 2, true, output<&Call::o>},
    TensorName{"lse", 1, true, output<&Call::lse>},
};
constexpr std::array kAttentionTensors = {
    TensorName{"q", 4, false, of_attention<&A::q>},
    TensorName{"k", 4, false, of_attention<&A::k>},
    TensorName{"v", 4, false, of_attention<&A::v>},
    TensorName{"bias", 4, false, of_attention<&A::bias>},
    TensorName{"alibi", 2, false, of_attention<&A::alibi>},
    TensorName{"sink", 1, false, of_attention<&A::sink>},
    TensorName{"q_descale", 2, false, of_attention<&A::q_descale>},
    TensorName{"k_descale", 2, false, of_attention<&A::k_descale>},
    TensorName{"v_descale", 2, false, of_attention<&A::v_descale>},
    TensorName{"key_length", 1, false, of_attention<&A::key_length>},
    TensorName{"q_start", 1, false, of_attention<&A::q_start>},
    TensorName{"k_start", 1, false, of_attention<&A::k_start>},
    TensorName{"page_table", 2, false, of_attention<&A::page_table>},
    TensorName{"o", 4, true, output<&Call::o>},
    TensorName{"lse", 3, true, output<&Call::lse>},
};
constexpr std::array kBackwardTensors = {
    TensorName{"q", 4, false, of_attention<&A::q>},
    TensorName{"k", 4, false, of_attention<&A::k>},
    TensorName{"v", 4, false, of_attention<&A::v>},
    TensorName{"bias", 4, false, of_attention<&A::bias>},
    TensorName{"alibi", 2, false, of_attention<&A::alibi>},
    TensorName{"key_length", 1, false, of_attention<&A::key_length>},
    TensorName{"d_out", 4, false, of_backward<&flashproof_attention_backward::d_out>},
    TensorName{"o_in", 4, false, of_backward<&flashproof_attention_backward::o>},
    TensorName{"lse_in", 3, false, of_backward<&flashproof_attention_backward::lse>},
    TensorName{"dq", 4, true, output<&Call::dq>},
    TensorName{"dk", 4, true, output<&Call::dk>},
    TensorName{"dv", 4, true, output<&Call::dv>},
};

template <auto kTensor, int kAxis>
Number size(const Call& call) {
  return {size_of(kTensor(call), kAxis)};
}

/// Sequences: packed ones share an axis.
Number batch(const Call& call) {
  const A& a = attention(call);
  return {a.q_start != nullptr ? size_of(a.q_start, 0) - 1 : size_of(a.q, 0)};
}

/// Keys of a sequence at most: of a paged one, what its pages hold.
Number k_length(const Call& call) {
  const A& a = attention(call);
  return {a.page_table != nullptr ? size_of(a.page_table, 1) * size_of(a.k, 2) : size_of(a.k, 2)};
}

template <auto kMember>
Number option(const Call& call) {
  if constexpr (std::is_same_v<decltype(kMember), float A::*>) return {static_cast<double>(attention(call).*kMember)};
  return {static_cast<std::int64_t>(attention(call).*kMember)};
}

constexpr std::array kSoftmaxValues = {
    ValueName{"rows", size<of_softmax<&flashproof_softmax::x>, 0>},
    ValueName{"cols", size<of_softmax<&flashproof_softmax::x>, 1>},
};
constexpr std::array kMergeValues = {
    ValueName{"states", size<of_merge<&flashproof_merge::o>, 0>},
    ValueName{"rows", size<of_merge<&flashproof_merge::o>, 1>},
    ValueName{"dv", size<of_merge<&flashproof_merge::o>, 2>},
    ValueName{"concat", [](const Call& call) { return Number(std::int64_t{call.merge->concat}); }},
};
constexpr std::array kAttentionValues = {
    ValueName{"batch", batch},
    ValueName{"q_heads", size<of_attention<&A::q>, 1>},
    ValueName{"k_heads", size<of_attention<&A::k>, 1>},
    ValueName{"q_length", size<of_attention<&A::q>, 2>},
    ValueName{"k_length", k_length},
    ValueName{"d", size<of_attention<&A::q>, 3>},
    ValueName{"dv", size<of_attention<&A::v>, 3>},
    ValueName{"scale", option<&A::scale>},
    ValueName{"softcap", option<&A::softcap>},
    ValueName{"causal", option<&A::causal>},
    ValueName{"window_left", option<&A::window_left>},
    ValueName{"window_right", option<&A::window_right>},
};

}  // namespace

std::span<const TensorName> tensor_names(int problem) {
  switch (problem) {
    case FLASHPROOF_SOFTMAX:
      return kSoftmaxTensors;
    case FLASHPROOF_MERGE:
      return kMergeTensors;
    case FLASHPROOF_ATTENTION:
      return kAttentionTensors;
    default:
      return kBackwardTensors;
  }
}

std::span<const ValueName> value_names(int problem) {
  if (problem == FLASHPROOF_SOFTMAX) return kSoftmaxValues;
  if (problem == FLASHPROOF_MERGE) return kMergeValues;
  return kAttentionValues;
}

std::vector<std::string_view> all_names(int problem) {
  std::vector<std::string_view> names;
  for (const TensorName& tensor : tensor_names(problem)) names.push_back(tensor.name);
  for (const ValueName& value : value_names(problem)) names.push_back(value.name);
  return names;
}

std::int64_t size_of(const flashproof_tensor* tensor, int axis) {
  return tensor == nullptr || axis >= tensor->ndim ? 0 : tensor->shape[axis];
}

std::int64_t stride_of(const flashproof_tensor* tensor, int axis) {
  return tensor == nullptr || axis >= tensor->ndim ? 0 : tensor->strides[axis];
}

}  // namespace flashproof::ptx
