#include "reference/problem/hidden_keys.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/problem/formats.h"

namespace flashproof {
namespace {

/// Every call of a foreign kernel asks this of all of k and v: by their bits, which is several times faster than by decode(), and
/// without a way out, so that a row whose components lie side by side is vector code.
template <class Bits>
bool any_special(const std::byte* from, std::int64_t count, std::int64_t stride, Format format) {
  const auto magnitude = static_cast<Bits>(sign_bit(format) - 1), finite = static_cast<Bits>(max_finite_bits(format));
  Bits odd = 0;
  const auto look = [&](std::int64_t at) {
    Bits bits = 0;
    std::memcpy(&bits, from + at * static_cast<std::int64_t>(sizeof bits), sizeof bits);
    odd |= static_cast<Bits>((bits & magnitude) > finite ? 1 : 0);
  };
  if (stride == 1) {
    for (std::int64_t t = 0; t < count; ++t) look(t);
  } else {
    for (std::int64_t t = 0; t < count; ++t) look(t * stride);
  }
  return odd != 0;
}

bool any_special(const Tensor& tensor, std::int64_t offset, std::int64_t count, std::int64_t stride) {
  const std::int64_t bytes = info(tensor.format).bits / 8;
  const std::byte* const from = tensor.storage.data() + offset * bytes;
  switch (bytes) {
    case 1:
      return any_special<std::uint8_t>(from, count, stride, tensor.format);
    case 2:
      return any_special<std::uint16_t>(from, count, stride, tensor.format);
    case 4:
      return any_special<std::uint32_t>(from, count, stride, tensor.format);
    default:
      return any_special<std::uint64_t>(from, count, stride, tensor.format);
  }
}

bool special(const Tensor& tensor, std::int64_t offset) {
  return any_special(tensor, offset, tensor.shape[3], tensor.stride[3]);
}

/// Of all that is stored, elements or not: where there is none, no key needs to be looked at.
bool stored_special(const Tensor& tensor) {
  const std::int64_t bytes = info(tensor.format).bits / 8;
  return any_special(tensor, 0, static_cast<std::int64_t>(tensor.storage.size()) / bytes, 1);
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
  if (!stored_special(p.k) && !stored_special(p.v)) return false;
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
