#include "reference/problem/hidden_keys.h"

#include <cstdint>

#include "reference/problem/formats.h"

namespace flashproof {
namespace {

/// Every call of a foreign kernel asks this of all of k and v: by their bits, which is several times faster than by decode().
bool special(const Tensor& tensor, std::int64_t offset) {
  const std::uint64_t magnitude = sign_bit(tensor.format) - 1, finite = max_finite_bits(tensor.format);
  for (std::int64_t t = 0; t < tensor.shape[3]; ++t) {
    if ((tensor.bits(offset + t * tensor.stride[3]) & magnitude) > finite) return true;
  }
  return false;
}

bool hidden_from_a_row(const AttentionProblem& p, std::int64_t s, std::int64_t kv, std::int64_t j) {
  for (std::int64_t h = 0; h < p.q_heads(); ++h) {
    for (std::int64_t i = 0; i < p.q_length(s) && p.kv_head(h) == kv; ++i) {
      if (!p.position_visible(s, i, j) || p.hidden_by_bias(s, h, i, j)) return true;
    }
  }
  return false;
}

}  // namespace

bool hidden_keys_hold_specials(const AttentionProblem& p) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      for (std::int64_t j = 0; j < p.visible_length(s); ++j) {
        const bool holds = special(p.k, p.k_offset(s, kv, j)) || special(p.v, p.v_offset(s, kv, j));
        if (holds && hidden_from_a_row(p, s, kv, j)) return true;
      }
    }
  }
  return false;
}

std::string needs_isolation(const Problem& problem) {
  const AttentionProblem* attention = attention_of(problem);
  if (attention == nullptr || !hidden_keys_hold_specials(*attention)) return "";
  return "hidden keys with NaN or infinities: this kernel does not declare isolates_hidden";
}

}  // namespace flashproof
