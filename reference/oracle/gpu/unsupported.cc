#include <cmath>
#include <cstring>
#include <string_view>

#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/layout.h"

namespace flashproof {
namespace {

/// Is every element of sequence b a finite number, up to its row `length`? A matter of the exponent's bits.
template <typename T>
bool finite(const Tensor& tensor, std::int64_t b, std::int64_t length, T exponent_mask) {
  const auto& n = tensor.shape;
  for (std::int64_t h = 0; h < n[1]; ++h) {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t start = tensor.offset({b, h, i, 0});
      bool row = true;
      for (std::int64_t c = 0; c < n[3]; ++c) {
        T bits;
        std::memcpy(&bits, tensor.storage.data() + (start + c * tensor.stride[3]) * sizeof bits, sizeof bits);
        row = row && (bits & exponent_mask) != exponent_mask;
      }
      if (!row) return false;
    }
  }
  return true;
}

bool finite(const Tensor& tensor, std::int64_t b, std::int64_t length) {
  if (tensor.format == Format::f32) return finite<std::uint32_t>(tensor, b, length, 0x7f800000);
  return finite<std::uint16_t>(tensor, b, length, tensor.format == Format::f16 ? 0x7c00 : 0x7f80);
}

}  // namespace

std::string gpu_tier_unsupported(const AttentionProblem& problem) {
  const auto refuse = [](std::string_view what) { return std::string(what) + " (the CPU tiers take it)"; };
  if (problem.packed()) return refuse("q_start: the GPU tier takes no packed sequences");
  if (problem.paged()) return refuse("page_table: the GPU tier takes no pages");
  if (problem.has_bias()) return refuse("bias: the GPU tier takes none");
  constexpr Feature kTaken[] = {Feature::window, Feature::sink};
  if (const auto feature = problem.beyond(kTaken)) {
    return refuse(std::string(name(*feature)) + ": the GPU tier needs " + std::string(absence(*feature)));
  }
  if (problem.scale == 0) return refuse("scale 0: the GPU tier needs another");
  if (problem.head_dim() > gpu::kDepth) return refuse("q: the GPU tier takes a head dim of at most 128");
  if (problem.value_dim() > gpu::kDepth) return refuse("v: the GPU tier takes a value dim of at most 128");
  if (problem.batch() * problem.q_heads() > 65535) return refuse("q: the GPU tier takes at most 65535 batch x heads");
  if (problem.has_sink()) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      const double sink = problem.sink.at({h});
      if (std::isnan(sink) || sink == INFINITY) return refuse("sink: the GPU tier takes finite numbers and -inf");
    }
  }
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    const std::int64_t keys = problem.visible_length(b);
    if (!finite(problem.q, b, problem.q_length())) return refuse("q: the GPU tier takes finite numbers only");
    if (!finite(problem.k, b, keys)) return refuse("k: the GPU tier takes finite numbers only");
    if (!finite(problem.v, b, keys)) return refuse("v: the GPU tier takes finite numbers only");
  }
  return {};
}

}  // namespace flashproof
