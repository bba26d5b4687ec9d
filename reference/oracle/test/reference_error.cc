#include "reference/oracle/test/reference_error.h"

namespace flashproof::test {
namespace {

/// Largest finite magnitude among the elements (padding excluded).
double largest(const Tensor& tensor) {
  double result = 0.0;
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    std::int64_t rest = n;
    std::int64_t offset = 0;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
      offset += rest % tensor.shape[axis] * tensor.stride[axis];
      rest /= tensor.shape[axis];
    }
    const double magnitude = std::fabs(decode(tensor.format, tensor.bits(offset)));
    if (std::isfinite(magnitude)) result = std::max(result, magnitude);
  }
  return result;
}

Sizes sizes_of(const SoftmaxProblem& p) {
  return {.n = static_cast<double>(p.x.shape[1]), .largest_score = largest(p.x)};
}

/// Of un-normalised states: the largest |O_s / l_s|, and |ln l_s|, of those that are not empty.
void add_states(const MergeProblem& p, Sizes& sizes) {
  sizes.n = 2 * sizes.n + 2;
  sizes.largest_value = 0.0;
  for (std::int64_t s = 0; s < p.o.shape[0]; ++s) {
    for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
      const double l = p.l.at({s, r});
      if (!std::isfinite(p.lse.at({s, r})) || l == 0.0) continue;
      sizes.log_factor = std::max(sizes.log_factor, std::fabs(std::log(l)));
      for (std::int64_t c = 0; c < p.o.shape[2]; ++c) {
        const double value = std::fabs(p.o.at({s, r, c})) / l;
        if (std::isfinite(value)) sizes.largest_value = std::max(sizes.largest_value, value);
      }
    }
  }
}

Sizes sizes_of(const MergeProblem& p) {
  if (p.has_l()) {
    Sizes sizes{.n = static_cast<double>(p.o.shape[0]), .largest_score = largest(p.lse)};
    add_states(p, sizes);
    return sizes;
  }
  return {.n = static_cast<double>(p.o.shape[0]), .largest_score = largest(p.lse), .largest_value = largest(p.o)};
}

Sizes sizes_of(const AttentionProblem& p) {
  const auto d = static_cast<double>(p.head_dim());
  // |i + Sk − Sq − j| is below Sq + Sk.
  const double distance = static_cast<double>(p.q_length()) + static_cast<double>(p.k_length());
  const double added = (p.has_bias() ? largest(p.bias) : 0.0) + (p.has_alibi() ? largest(p.alibi) * distance : 0.0);
  const auto factor = [](const Tensor& tensor) { return tensor.shape.empty() ? 1.0 : largest(tensor); };
  const double scale = std::fabs(static_cast<double>(p.scale)) * factor(p.q_descale) * factor(p.k_descale);
  const double dot = scale * d * largest(p.q) * largest(p.k);
  const double softcap = p.softcap;
  const double score = (softcap > 0.0 ? std::min(dot, softcap) : dot) + added;
  // One more rounding of o stands in n for v_descale.
  return {.n = static_cast<double>(p.k_length()) + (p.has_sink() ? 1.0 : 0.0) + (p.has_descale() ? 1.0 : 0.0),
          .ops = 2.0 * d + 6.0,
          .largest_score = std::max(score, p.has_sink() ? largest(p.sink) : 0.0),
          .terms = dot + added,
          .softcap = softcap,
          .largest_value = largest(p.v) * factor(p.v_descale)};
}

}  // namespace

Sizes sizes(const Problem& problem) {
  return visit_forward([](const auto& p) { return sizes_of(p); }, problem);
}

}  // namespace flashproof::test
