#include "reports/plugin/test/lazy_adversaries.h"

#include <cmath>

#include "properties/generators/backward_case.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/backward/bound.h"

namespace flashproof {
namespace {

/// Those that the kernel's declaration stands for, as far as they have a meaning for this problem.
class Declared {
 public:
  Declared(const Kernel& kernel, const Problem& problem) : problem_(problem) {
    gradient_ = std::get_if<BackwardProblem>(&problem);
    if (gradient_ == nullptr) {
      forward_ = alternatives(kernel.arithmetic, problem);
      return;
    }
    for (const BackwardArithmetic& one : kernel.backward_for(gradient_->forward.q.format)) {
      if (backward_refused(gradient_->forward, one).empty()) backward_.push_back(one);
    }
    errors_ = forward_errors(*gradient_);
  }

  std::size_t size() const { return gradient_ == nullptr ? forward_.size() : backward_.size(); }
  Bound bound(std::size_t i) const {
    return gradient_ == nullptr ? compute_bound(problem_, forward_[i])
                                : backward_bound(*gradient_, backward_[i], errors_);
  }

 private:
  const Problem& problem_;
  const BackwardProblem* gradient_;
  std::vector<Arithmetic> forward_;
  std::vector<BackwardArithmetic> backward_;
  ForwardErrors errors_;
};

const RowDomain& domain_of(const Bound& bound, Part part, std::size_t row, std::size_t element) {
  return part == Part::o ? bound.domain_of(row, element) : bound.domains(part)[row];
}

void put_nan_outside(const Contract& contract, const Bound& bound, std::span<const Part> parts, Output& output) {
  for (const Part part : parts) {
    Tensor& tensor = output[part];
    const std::size_t rows = bound.domains(part).size(), elements = bound[part].size();
    for (std::size_t i = 0; i < elements; ++i) {
      const RowDomain& domain = domain_of(bound, part, i / (elements / rows), i);
      const bool holds = domain.holds() && (!contract.refuses_beyond_range || domain.form.holds());
      if (!holds) tensor.set_bits(static_cast<std::int64_t>(i), encode(tensor.format, std::nan("")));
    }
  }
}

/// change(value, bound of the element) of every element.
template <class Change>
Output by_bound(const Bound& bound, std::span<const Part> parts, Output output, Change change) {
  for (const Part part : parts) {
    Tensor& tensor = output[part];
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const double value = decode(tensor.format, tensor.bits(i));
      const double to = change(value, bound[part][static_cast<std::size_t>(i)].total());
      // NaN is what it was.
      if (to != value && std::fabs(to) < info(tensor.format).max_finite) tensor.set_bits(i, encode(tensor.format, to));
    }
  }
  return output;
}

}  // namespace

Output nan_where_any_leaves(const Kernel& kernel, const Problem& problem, Output right) {
  const Declared declared(kernel, problem);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    put_nan_outside(kernel.contract, declared.bound(i), parts(kernel.problem), right);
  }
  return right;
}

Output nan_where_first_leaves(const Kernel& kernel, const Problem& problem, Output right) {
  put_nan_outside(kernel.contract, Declared(kernel, problem).bound(0), parts(kernel.problem), right);
  return right;
}

Output nan_where_one_leaves(const Kernel& kernel, const Problem& problem, Output right) {
  const Declared declared(kernel, problem);
  const auto elements = static_cast<std::size_t>(right[parts(kernel.problem).front()].elements());
  put_nan_outside(kernel.contract, declared.bound(elements % declared.size()), parts(kernel.problem), right);
  return right;
}

Output at_edge_of_bound(const Kernel& kernel, const Problem& problem, Output right) {
  return by_bound(Declared(kernel, problem).bound(0), parts(kernel.problem), std::move(right),
                  [](double value, double bound) { return value + 0.9 * bound; });
}

Output zero_where_accepted(const Kernel& kernel, const Problem& problem, Output right) {
  return by_bound(Declared(kernel, problem).bound(0), parts(kernel.problem), std::move(right),
                  [](double value, double bound) { return std::fabs(value) < 0.999 * bound ? 0 : value; });
}

}  // namespace flashproof
