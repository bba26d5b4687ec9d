#include "reports/run/case_sizes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/bound/declare/declaration.h"

namespace flashproof {
namespace {

double magnitude_of(double x) { return std::isfinite(x) ? std::fabs(x) : 0; }

/// Over every element.
double largest(const Tensor& tensor) {
  if (tensor.elements() == 0) return 0;
  double result = 0;
  std::vector<std::int64_t> index(tensor.shape.size());
  std::int64_t offset = 0;
  for (;;) {
    result = std::max(result, magnitude_of(decode(tensor.format, tensor.bits(offset))));
    std::size_t axis = index.size();
    for (; axis > 0; --axis) {  // the next index, last axis first
      const std::size_t a = axis - 1;
      offset += tensor.stride[a];
      if (++index[a] < tensor.shape[a]) break;
      offset -= index[a] * tensor.stride[a];
      index[a] = 0;
    }
    if (axis == 0) return result;
  }
}

/// 0 if a component is NaN or inf.
double norm(const Tensor& tensor, std::int64_t offset) {
  double sum = 0;  // of squares below 2^256: no overflow for any head dimension
  for (std::int64_t c = 0; c < tensor.shape[3]; ++c) {
    const double x = decode(tensor.format, tensor.bits(offset + c * tensor.stride[3]));
    sum += x * x;
  }
  return std::isfinite(sum) ? std::sqrt(sum) : 0;
}

double largest_score(const AttentionProblem& p) {
  double q = 0, k = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) q = std::max(q, norm(p.q, p.q_offset(s, h, i)));
    }
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      for (std::int64_t j = 0; j < p.k_length(s); ++j) k = std::max(k, norm(p.k, p.k_offset(s, h, j)));
    }
  }
  double factor = std::fabs(static_cast<double>(p.scale));
  for (const Tensor* descale : {&p.q_descale, &p.k_descale}) {
    if (!descale->shape.empty()) factor *= largest(*descale);
  }
  return factor * q * k;
}

std::int64_t longest(const AttentionProblem& p) {
  std::int64_t keys = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) keys = std::max(keys, p.k_length(s));
  return keys;
}

struct Sizes {
  CaseSizes operator()(const SoftmaxProblem& p) const { return {static_cast<double>(p.x.shape[1]), largest(p.x), 0}; }
  CaseSizes operator()(const MergeProblem& p) const { return {static_cast<double>(p.o.shape[0]), largest(p.lse), 0}; }
  CaseSizes operator()(const AttentionProblem& p) const {
    return {static_cast<double>(longest(p)), largest_score(p), 0};
  }
  CaseSizes operator()(const BackwardProblem& p) const { return (*this)(p.forward); }
};

struct Units {
  const Arithmetic& arithmetic;

  bool joins_chunks() const {
    switch (arithmetic.reduction) {
      case Reduction::two_pass:
      case Reduction::unshifted:
      case Reduction::row_resident:
        return false;
      default:
        return true;
    }
  }
  std::int64_t operator()(const SoftmaxProblem& p) const {
    if (arithmetic.reduction == Reduction::strided_online) return p.x.shape[1];
    return joins_chunks() ? visited_plan(p.plan, arithmetic).chunks() : 1;
  }
  std::int64_t operator()(const MergeProblem& p) const { return p.o.shape[0]; }
  std::int64_t operator()(const AttentionProblem& p) const {
    if (arithmetic.per_key) return longest(p);
    // Of a row_resident split, every part has a maximum of its own.
    return joins_chunks() ? visited_plan(p.plan, arithmetic).chunks() : arithmetic.split.parts;
  }
};

std::int64_t blocks(const Accumulation& a, std::int64_t rows, std::int64_t heads) {
  const std::int64_t sums = a.heads_apart ? heads : 1, terms = a.heads_apart ? rows : rows * heads;
  return sums * (a.block > 0 ? (terms + a.block - 1) / a.block : 1);
}

double joins(std::int64_t units) { return static_cast<double>(std::max<std::int64_t>(units, 1) - 1); }

}  // namespace

CaseSizes sizes_of(const Problem& problem) { return std::visit(Sizes{}, problem); }

double merges_of(const KernelDeclaration& kernel, const Problem& problem) {
  const auto* p = std::get_if<BackwardProblem>(&problem);
  if (p == nullptr) return joins(visit_forward(Units{kernel.arithmetic}, problem));
  const BackwardArithmetic& a = kernel.backward;
  const std::int64_t keys = p->forward.k_length(), queries = p->forward.q_length();
  return joins(std::max({blocks(a.dq, keys, 1), blocks(a.dk, queries, p->group()), blocks(a.dv, queries, p->group())}));
}

}  // namespace flashproof
