#include "reports/diagnose/finite_copy.h"

#include <cmath>

#include "reference/error/element.h"

namespace flashproof {
namespace {

/// Every element of the storage, whatever the strides say.
bool clean(Tensor& tensor) {
  bool any = false;
  const auto n = static_cast<std::int64_t>(tensor.storage.size()) / bytes_of(tensor.format);
  for (std::int64_t at = 0; at < n; ++at) {
    if (class_of(decode(tensor.format, tensor.bits(at))) == kFinite) continue;
    constexpr std::int64_t kFactor = 7919, kModulus = 127, kMiddle = 63;  // primes: neighbours differ
    const double x = static_cast<double>(at * kFactor % kModulus - kMiddle) / kModulus;
    tensor.set_bits(at, encode(tensor.format, x));
    any = true;
  }
  return any;
}

}  // namespace

std::optional<Case> finite_copy(const Case& subject, Cleaned cleaned) {
  Case copy = subject;
  bool any = false;
  if (auto* p = std::get_if<AttentionProblem>(&copy.problem)) {
    if (cleaned != Cleaned::keys) any |= clean(p->v);
    if (cleaned != Cleaned::values) any |= clean(p->k);
  } else if (auto* gradient = std::get_if<BackwardProblem>(&copy.problem)) {
    for (const Tensor* other : {&gradient->forward.q, &gradient->d_out, &gradient->o})
      if (Tensor copied = *other; clean(copied)) return std::nullopt;  // then k and v alone say nothing
    gradient->mode = BackwardMode::stage;                              // o and lse are no longer those of these inputs
    if (cleaned != Cleaned::keys) any |= clean(gradient->forward.v);
    if (cleaned != Cleaned::values) any |= clean(gradient->forward.k);
  } else if (auto* merge = std::get_if<MergeProblem>(&copy.problem); merge != nullptr && cleaned == Cleaned::values) {
    any = clean(merge->o);
  }
  return any ? std::optional(std::move(copy)) : std::nullopt;
}

}  // namespace flashproof
