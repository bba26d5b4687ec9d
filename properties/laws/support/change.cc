#include "properties/laws/support/change.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace flashproof {
namespace {

std::int64_t products_of(const SoftmaxProblem& p) { return 4 * p.x.elements(); }
std::int64_t products_of(const MergeProblem& p) { return 4 * p.o.elements(); }
std::int64_t products_of(const AttentionProblem& p) {
  return output_shape(p).rows * p.k_length() * (p.head_dim() + p.value_dim());
}
std::int64_t products_of(const BackwardProblem& p) { return products_of(p.forward); }

}  // namespace

std::int64_t products(const Problem& problem) {
  return std::visit([](const auto& p) { return products_of(p); }, problem);
}

std::vector<std::int64_t> iota(std::int64_t n) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(n));
  std::iota(index.begin(), index.end(), 0);
  return index;
}

Tensor gather(const Tensor& tensor, int axis, std::span<const std::int64_t> index) {
  const auto a = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> shape = tensor.shape;
  shape[a] = static_cast<std::int64_t>(index.size());
  Tensor result = Tensor::dense(tensor.format, shape);
  // The result is dense: its strides say where an element of it comes from.
  std::int64_t at = 0;
  Tensor view = result;  // only shape and strides are used
  view.stride = tensor.stride;
  view.stride[a] = 0;
  const std::int64_t inner = result.stride[a];
  for_each_offset(view, [&](std::int64_t offset) {
    const std::int64_t place = inner == 0 ? 0 : at / inner % shape[a];
    result.set_bits(at, tensor.bits(offset + index[static_cast<std::size_t>(place)] * tensor.stride[a]));
    ++at;
  });
  return result;
}

Tensor joined(const Tensor& first, const Tensor& second, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> shape = first.shape;
  shape[a] += second.shape[a];
  Tensor result = Tensor::dense(first.format, shape);
  const auto put = [&](const Tensor& part, std::int64_t start) {
    Tensor target = part;  // the part's shape with the result's strides
    target.stride = result.stride;
    std::vector<std::int64_t> to;
    for_each_offset(target, [&](std::int64_t offset) { to.push_back(offset + start * result.stride[a]); });
    std::size_t n = 0;
    for_each_offset(part, [&](std::int64_t offset) { result.set_bits(to[n++], part.bits(offset)); });
  };
  put(first, 0);
  put(second, first.shape[a]);
  return result;
}

bool respell_mask(AttentionProblem& p) {
  if (p.causal) {
    p.window_right = 0;
    p.causal = false;
    return true;
  }
  if (p.window_right != 0) return false;
  p.window_right = -1;
  return p.causal = true;
}

double largest(const Tensor& tensor) {
  double result = 0;
  for_each_offset(tensor, [&](std::int64_t offset) {
    const double x = std::fabs(decode(tensor.format, tensor.bits(offset)));
    if (std::isfinite(x)) result = std::max(result, x);
  });
  return result;
}

double step_of(double most, int precision) {
  int exponent = 0;
  std::frexp(most, &exponent);  // most < 2^exponent
  return std::ldexp(1.0, exponent - precision);
}

Tensor rounded_to(const Tensor& tensor, double step) {
  return mapped(tensor, [&](double x) { return std::isfinite(x) ? std::nearbyint(x / step) * step : x; });
}

Tensor shifted(const Tensor& tensor, double c) {
  return mapped(tensor, [&](double x) { return x + c; });
}

Tensor dense_bias(const AttentionProblem& p) {
  if (p.has_bias()) return mapped(p.bias, [](double x) { return x; });
  Tensor bias = Tensor::dense(Format::f32, {p.batch(), p.q_heads(), p.q_length(), p.k_length()});
  std::ranges::fill(bias.storage, std::byte{0});
  return bias;
}

namespace {

bool finite_or_hiding(double x) { return std::isfinite(x) || x == -std::numeric_limits<double>::infinity(); }

std::vector<std::uint8_t> ordinary(const SoftmaxProblem& p) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(p.x.shape[0]), 1);
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    const std::int64_t length = length_of(p, r);
    for (std::int64_t c = 0; c < length; ++c) {
      if (!finite_or_hiding(p.x.at({r, c}))) rows[static_cast<std::size_t>(r)] = 0;
    }
  }
  return rows;
}

std::vector<std::uint8_t> ordinary(const MergeProblem& p) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(p.o.shape[1]), 1);
  for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
    bool good = true;
    for (std::int64_t n = 0; n < p.o.shape[0]; ++n) {
      const double lse = p.lse.at({n, r});
      good = good && finite_or_hiding(lse);
      if (!std::isfinite(lse)) continue;
      if (p.has_l()) good = good && std::isfinite(p.l.at({n, r}));
      for (std::int64_t c = 0; c < p.o.shape[2]; ++c) good = good && std::isfinite(p.o.at({n, r, c}));
    }
    rows[static_cast<std::size_t>(r)] = good ? 1 : 0;
  }
  return rows;
}

/// Every key of sequence s and kv head h.
bool finite_keys(const AttentionProblem& p, std::int64_t s, std::int64_t h) {
  for (std::int64_t j = 0; j < p.visible_length(s); ++j) {
    const std::int64_t k = p.k_offset(s, h, j), v = p.v_offset(s, h, j);
    for (std::int64_t c = 0; c < p.head_dim(); ++c) {
      if (!std::isfinite(decode(p.k.format, p.k.bits(k + c * p.k.stride[3])))) return false;
    }
    for (std::int64_t c = 0; c < p.value_dim(); ++c) {
      if (!std::isfinite(decode(p.v.format, p.v.bits(v + c * p.v.stride[3])))) return false;
    }
  }
  return true;
}

std::vector<std::uint8_t> ordinary(const AttentionProblem& p) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(p.batch() * p.q_heads() * p.q_length()), 1);
  std::vector<std::uint8_t> keys(static_cast<std::size_t>(p.sequences() * p.k_heads()));
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      keys[static_cast<std::size_t>(s * p.k_heads() + h)] = finite_keys(p, s, h) ? 1 : 0;
    }
  }
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    bool good = keys[static_cast<std::size_t>(s * p.k_heads() + p.kv_head(h))] != 0;
    const std::int64_t q = p.q_offset(s, h, i);
    for (std::int64_t c = 0; c < p.head_dim(); ++c) {
      good = good && std::isfinite(decode(p.q.format, p.q.bits(q + c * p.q.stride[3])));
    }
    for (std::int64_t j = 0; p.has_bias() && j < p.visible_length(s); ++j) {  // beyond it lies no key
      good = good && finite_or_hiding(p.bias.at({s, h, i, j}));
    }
    if (p.has_sink()) good = good && finite_or_hiding(p.sink.at({h}));
    rows[static_cast<std::size_t>(row)] = good ? 1 : 0;
  });
  return rows;
}

}  // namespace

std::vector<std::uint8_t> ordinary_rows(const Problem& problem) {
  return visit_forward([](const auto& p) { return ordinary(p); }, problem);
}

}  // namespace flashproof
