#include "kernels/ptx/map/trial.h"

#include <algorithm>

namespace flashproof::ptx {

const flashproof_tensor* TrialCall::add(std::initializer_list<std::int64_t> shape) {
  Shaped& one = tensors_.at(used_++);
  std::ranges::copy(shape, one.shape.begin());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= one.shape.at(axis)) one.strides.at(axis) = stride;
  one.tensor.ndim = static_cast<std::int32_t>(shape.size());
  one.tensor.shape = one.shape.data();
  one.tensor.strides = one.strides.data();
  return &one.tensor;
}

TrialCall::TrialCall(int problem, const std::map<std::string, std::int64_t>& sizes) {
  const auto size = [&](const char* axis) {
    const auto found = sizes.find(axis);
    return found == sizes.end() ? std::int64_t{33} : found->second;
  };
  const std::int64_t rows = size("rows"), dv = size("dv");
  if (problem == FLASHPROOF_SOFTMAX) {
    const std::int64_t cols = size("cols");
    softmax_ = {sizeof softmax_, add({rows, cols}), add({rows})};
    call_.softmax = &softmax_;
    call_.o = add({rows, cols});
    call_.lse = add({rows});
    return;
  }
  if (problem == FLASHPROOF_MERGE) {
    const std::int64_t states = size("states");
    merge_ = {sizeof merge_,
              add({states, rows, dv}),
              add({states, rows}),
              add({states, rows}),
              add({states}),
              add({states, 2}),
              0};
    call_.merge = &merge_;
    call_.o = add({rows, dv});
    call_.lse = add({rows});
    return;
  }
  const std::int64_t batch = size("batch"), sq = size("q_length"), sk = size("k_length"), d = size("d");
  const std::int64_t hk = size(sizes.contains("k_heads") ? "k_heads" : "q_heads");
  const std::int64_t hq =
      hk == 0 || !sizes.contains("q_heads") ? hk : hk * std::max<std::int64_t>(1, size("q_heads") / hk);
  attention_.q = add({batch, hq, sq, d});
  attention_.k = add({batch, hk, sk, d});
  attention_.v = add({batch, hk, sk, dv});
  attention_.bias = add({batch, hq, sq, sk});
  attention_.alibi = add({batch, hq});
  attention_.sink = add({hq});
  attention_.q_descale = attention_.k_descale = attention_.v_descale = add({batch, hk});
  attention_.key_length = add({batch});
  attention_.q_start = attention_.k_start = add({batch + 1});
  attention_.page_table = add({batch, 1});  // of one page, which k is
  attention_.scale = 0.125F;
  attention_.softcap = 30;
  attention_.causal = 1;
  attention_.window_left = attention_.window_right = 1;
  call_.o = add({batch, hq, sq, dv});
  call_.lse = add({batch, hq, sq});
  call_.attention = &attention_;
  if (problem == FLASHPROOF_ATTENTION) return;
  backward_ = {sizeof backward_, &attention_, add({batch, hq, sq, dv}), add({batch, hq, sq, dv}), add({batch, hq, sq})};
  call_.attention = nullptr;
  call_.attention_backward = &backward_;
  call_.dq = add({batch, hq, sq, d});
  call_.dk = add({batch, hk, sk, d});
  call_.dv = add({batch, hk, sk, dv});
}

}  // namespace flashproof::ptx
