// Problems changed in ways whose effect is known: what relating laws run a kernel on besides the case itself.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/problem/fields.h"

namespace flashproof {

/// Calls visit(offset) for every element of a tensor in row-major order; any strides.
template <class Visit>
void for_each_offset(const Tensor& tensor, Visit visit);
/// Dense, with index[i] of `axis` at place i; an index may come twice or not at all.
Tensor gather(const Tensor& tensor, int axis, std::span<const std::int64_t> index);
/// 0, 1, ..., n − 1
std::vector<std::int64_t> iota(std::int64_t n);

/// Every tensor with this axis, and every list of a number per index of it, keeps these indices, in this order.
template <class P>
void keep_along(P& problem, Axis axis, std::span<const std::int64_t> index) {
  for_each_field(problem, [&]<class Reference>(const Field& field, Reference&& value) {
    using Value = std::remove_cvref_t<Reference>;
    const auto found = std::ranges::find(field.shape(), axis);
    if (found == field.shape().end()) return;
    if constexpr (std::same_as<Value, Tensor>) {
      if (!value.shape.empty()) value = gather(value, static_cast<int>(found - field.shape().begin()), index);
    } else if constexpr (std::same_as<Value, std::vector<std::int32_t>>) {
      Value kept;
      for (const std::int64_t i : index) {
        if (!value.empty()) kept.push_back(value[static_cast<std::size_t>(i)]);
      }
      value = std::move(kept);
    }
  });
}
/// Dense: `first` followed by `second` along the axis; the other extents are equal.
Tensor joined(const Tensor& first, const Tensor& second, int axis);
/// How much work a run of a kernel is: of attention the products of its two sums, else four for each input element.
std::int64_t products(const Problem& problem);
/// Dense, every element f(value), rounded into the format.
template <class F>
Tensor mapped(const Tensor& tensor, F f);

/// The largest magnitude among its finite numbers; 0 if there are none.
double largest(const Tensor& tensor);
/// 2^e with |x| <= 2^(e + precision) for all |x| <= most: multiples of it up to there are numbers of a format of that precision.
double step_of(double most, int precision);
/// Dense, every finite element rounded to a multiple of `step`.
Tensor rounded_to(const Tensor& tensor, double step);
/// Dense, c added to every element.
Tensor shifted(const Tensor& tensor, double c);

/// The other spelling of a mask that ends beside the query; false if this one ends elsewhere.
bool respell_mask(AttentionProblem& problem);
/// The bias as a dense tensor of its full shape, zeros where the problem has none. Not for packed problems.
Tensor dense_bias(const AttentionProblem& problem);

/// Rows of the output whose every input is a finite number: of k and v all keys of the sequence and head, hidden ones too;
/// −inf in x, bias, lse and sink counts as finite (it hides), and the o of a state with lse = −inf is not looked at.
std::vector<std::uint8_t> ordinary_rows(const Problem& problem);

/// How many columns of row r there are.
inline std::int64_t length_of(const SoftmaxProblem& p, std::int64_t r) {
  return p.row_length.empty() ? p.x.shape[1] : p.row_length[static_cast<std::size_t>(r)];
}

/// Calls visit(s, h, i, row) for every sequence, query head, query and the row of the output that they have.
template <class Visit>
void for_each_query(const AttentionProblem& p, Visit visit) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) visit(s, h, i, p.output_row(s, h, i));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

template <class Visit>
void for_each_offset(const Tensor& tensor, Visit visit) {
  const std::int64_t elements = tensor.elements();
  if (elements == 0) return;
  const std::size_t outer = tensor.shape.size() - 1;
  const std::int64_t columns = tensor.shape[outer], step = tensor.stride[outer];
  std::vector<std::int64_t> index(outer, 0);
  for (std::int64_t n = elements / columns; n > 0; --n) {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < outer; ++a) offset += index[a] * tensor.stride[a];
    for (std::int64_t c = 0; c < columns; ++c) visit(offset + c * step);
    for (std::size_t a = outer; a-- > 0;) {
      if (++index[a] < tensor.shape[a]) break;
      index[a] = 0;
    }
  }
}

/// How much work a run of a kernel is: of attention the products of its two sums, else four for each input element.
std::int64_t products(const Problem& problem);

template <class F>
Tensor mapped(const Tensor& tensor, F f) {
  Tensor result = Tensor::dense(tensor.format, tensor.shape);
  std::int64_t at = 0;
  for_each_offset(tensor, [&](std::int64_t offset) {
    result.set_bits(at++, encode(tensor.format, f(decode(tensor.format, tensor.bits(offset)))));
  });
  return result;
}

}  // namespace flashproof
