#include "reports/diagnose/finite_copy.h"

#include <vector>

#include "reference/error/element.h"

namespace flashproof {
namespace {

/// Which elements of a tensor's storage count.
using Counts = std::vector<bool>;

Counts none_of(const Tensor& tensor) {
  return Counts(tensor.storage.size() / static_cast<std::size_t>(bytes_of(tensor.format)));
}

/// The last axis from `offset` on.
void add_row(Counts& counts, const Tensor& tensor, std::int64_t offset) {
  for (std::int64_t c = 0; c < tensor.shape.back(); ++c)
    counts[static_cast<std::size_t>(offset + c * tensor.stride.back())] = true;
}

/// The keys of sequence s that some query sees which reads this kv head.
std::vector<bool> seen_keys(const AttentionProblem& p, std::int64_t s, std::int64_t kv) {
  std::vector<bool> seen(static_cast<std::size_t>(p.k_length(s)));
  for (std::int64_t h = 0; h < p.q_heads(); ++h) {
    if (p.kv_head(h) != kv) continue;
    for (std::int64_t i = 0; i < p.q_length(s); ++i) {
      const auto [first, last] = p.visible_keys(s, i);
      for (std::int64_t j = first; j < last; ++j)
        if (!p.hidden_by_bias(s, h, i, j)) seen[static_cast<std::size_t>(j)] = true;
    }
  }
  return seen;
}

struct KeysAndValues {
  Counts k, v;
};
/// k and v of a key that some query sees. Two keys may share their storage: a page, or a stride of 0.
KeysAndValues counts_of(const AttentionProblem& p) {
  KeysAndValues counts{none_of(p.k), none_of(p.v)};
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      const std::vector<bool> seen = seen_keys(p, s, kv);
      for (std::size_t j = 0; j < seen.size(); ++j) {
        if (!seen[j]) continue;
        add_row(counts.k, p.k, p.k_offset(s, kv, static_cast<std::int64_t>(j)));
        add_row(counts.v, p.v, p.v_offset(s, kv, static_cast<std::int64_t>(j)));
      }
    }
  }
  return counts;
}

Counts counts_of(const MergeProblem& p) {
  Counts counts = none_of(p.o);
  for (std::int64_t n = 0; n < p.o.shape[0]; ++n)
    for (std::int64_t row = 0; row < p.o.shape[1]; ++row)
      if (class_of(p.lse.at({n, row})) != kNegInf) add_row(counts, p.o, p.o.offset({n, row, 0}));
  return counts;
}

/// Every element of the storage that is not kept, whatever the strides say.
bool clean(Tensor& tensor, const Counts& kept) {
  bool any = false;
  const auto n = static_cast<std::int64_t>(kept.size());
  for (std::int64_t at = 0; at < n; ++at) {
    if (kept[static_cast<std::size_t>(at)] || class_of(decode(tensor.format, tensor.bits(at))) == kFinite) continue;
    constexpr std::int64_t kFactor = 7919, kModulus = 127, kMiddle = 63;  // primes: neighbours differ
    const double x = static_cast<double>(at * kFactor % kModulus - kMiddle) / kModulus;
    tensor.set_bits(at, encode(tensor.format, x));
    any = true;
  }
  return any;
}

bool clean(AttentionProblem& p, Cleaned cleaned) {
  const auto [k, v] = cleaned == Cleaned::everything ? KeysAndValues{none_of(p.k), none_of(p.v)} : counts_of(p);
  bool any = cleaned != Cleaned::keys && clean(p.v, v);
  any |= cleaned != Cleaned::values && clean(p.k, k);
  return any;
}

}  // namespace

std::optional<Case> finite_copy(const Case& subject, Cleaned cleaned) {
  Case copy = subject;
  bool any = false;
  if (auto* p = std::get_if<AttentionProblem>(&copy.problem)) {
    any = clean(*p, cleaned);
  } else if (auto* gradient = std::get_if<BackwardProblem>(&copy.problem)) {
    for (const Tensor* other : {&gradient->forward.q, &gradient->d_out, &gradient->o})
      if (Tensor copied = *other; clean(copied, none_of(copied)))
        return std::nullopt;               // then k and v alone say nothing
    gradient->mode = BackwardMode::stage;  // o and lse are no longer those of these inputs
    any = clean(gradient->forward, cleaned);
  } else if (auto* merge = std::get_if<MergeProblem>(&copy.problem)) {
    if (cleaned == Cleaned::values) any = clean(merge->o, counts_of(*merge));
    if (cleaned == Cleaned::everything) any = clean(merge->o, none_of(merge->o));
  }
  return any ? std::optional(std::move(copy)) : std::nullopt;
}

}  // namespace flashproof
