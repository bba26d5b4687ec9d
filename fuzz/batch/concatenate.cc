#include "fuzz/batch/concatenate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <optional>

#include "reference/problem/fields.h"

namespace flashproof {
namespace {

bool dense(const Tensor& t) {
  return t.stride == dense_stride(t.shape) &&
         static_cast<std::int64_t>(t.storage.size()) == t.elements() * bytes_of(t.format);
}

/// Along which problems of one kind are joined.
template <class P>
constexpr Axis kJoined = std::same_as<P, AttentionProblem> ? Axis::batch : Axis::rows;

/// Where the field has that axis, if it does.
template <class P>
std::optional<std::size_t> joined_axis(const Field& field) {
  const auto found = std::ranges::find(field.shape(), kJoined<P>);
  if (found == field.shape().end()) return std::nullopt;
  return static_cast<std::size_t>(found - field.shape().begin());
}

/// Everything of a tensor that must agree: its format and its shape without one axis; "-" for no tensor.
std::string sort_of(const Tensor& t, std::size_t axis) {
  if (t.shape.empty()) return "-";
  std::string text = std::string(info(t.format).name);
  for (std::size_t i = 0; i < t.shape.size(); ++i) text += i == axis ? " *" : fmt::format(" {}", t.shape[i]);
  return text;
}

/// What must agree of a field, as text; `joinable` becomes false where one cannot be joined at all.
template <class P>
class KeyWriter {
 public:
  std::string key;
  bool joinable = true;

  void operator()(const Field& field, const Tensor& tensor) {
    const std::optional<std::size_t> axis = joined_axis<P>(field);
    joinable = joinable && (tensor.shape.empty() || (axis && dense(tensor)));
    key += " | " + sort_of(tensor, axis.value_or(0));
  }
  void operator()(const Field& field, const std::vector<std::int32_t>& values) {
    key += joined_axis<P>(field) ? fmt::format(" {}", values.empty()) : fmt::format(" {}", fmt::join(values, ","));
  }
  void operator()(const Field&, const std::vector<Join>& joins) {
    for (const Join& j : joins) key += fmt::format(" {}+{}", j.left, j.right);
  }
  void operator()(const Field&, float value) { key += fmt::format(" {:a}", value); }
  template <class T>
  void operator()(const Field&, const TwoWords<T>& word) {
    key += word.value == word.first ? " 1" : " 2";
  }
  template <class T>
  void operator()(const Field&, const Window<T>& window) {
    key += fmt::format(" {},{}", window.left, window.right);
  }
};

template <class P>
std::string key_of(const P& p) {
  if constexpr (std::same_as<P, AttentionProblem>) {
    if (p.packed() || p.paged()) return "";
  }
  KeyWriter<P> writer;
  for_each_field(p, writer);
  return writer.joinable ? std::string(name(kind_of(p))) + writer.key : "";
}

/// Tensors of equal shape but for `axis`, end to end along it: every one as so many runs, one for each index before it.
Tensor join(std::span<const Tensor* const> parts, std::size_t axis) {
  const Tensor& first = *parts.front();
  if (first.shape.empty()) return {};
  std::vector<std::int64_t> shape = first.shape;
  shape[axis] = 0;
  for (const Tensor* t : parts) shape[axis] += t->shape[axis];
  Tensor whole = Tensor::dense(first.format, shape);
  std::int64_t runs = 1, inner = bytes_of(first.format);
  for (std::size_t i = 0; i < axis; ++i) runs *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  auto to = whole.storage.begin();
  for (std::int64_t run = 0; run < runs; ++run) {
    for (const Tensor* t : parts)
      to = std::copy_n(t->storage.begin() + run * t->shape[axis] * inner, t->shape[axis] * inner, to);
  }
  return whole;
}

/// The field of this number, in the order of for_each_field(); it is a T.
template <class T, class P>
const T& field_of(const P& problem, std::size_t number) {
  const T* found = nullptr;
  std::size_t n = 0;
  for_each_field(problem, [&]<class Value>(const Field&, const Value& value) {
    if constexpr (std::same_as<Value, T>) found = n == number ? &value : found;
    ++n;
  });
  return *found;
}

template <class P>
Problem join_as(const P& first, std::span<const Problem* const> problems) {
  P whole = first;
  std::size_t n = 0;
  for_each_field(whole, [&]<class Reference>(const Field& field, Reference&& value) {
    using Value = std::remove_cvref_t<Reference>;
    const std::size_t number = n++;
    const std::optional<std::size_t> axis = joined_axis<P>(field);
    if (!axis) return;
    if constexpr (std::same_as<Value, Tensor>) {
      std::vector<const Tensor*> parts;
      for (const Problem* problem : problems) parts.push_back(&field_of<Tensor>(std::get<P>(*problem), number));
      value = join(parts, *axis);
    } else if constexpr (std::same_as<Value, std::vector<std::int32_t>>) {
      value.clear();
      for (const Problem* problem : problems) {
        const Value& more = field_of<Value>(std::get<P>(*problem), number);
        value.insert(value.end(), more.begin(), more.end());
      }
    }
  });
  return whole;
}

}  // namespace

std::string join_key(const Problem& problem) {
  return visit_forward([](const auto& p) { return key_of(p); }, problem);
}

Problem concatenate(std::span<const Problem* const> problems) {
  Problem whole = visit_forward([&](const auto& first) { return join_as(first, problems); }, *problems.front());
  validate(whole);
  return whole;
}

Output part_of(const Output& whole, std::int64_t first_row, const Problem& part) {
  const OutputShape shape = output_shape(part);
  Output output{Tensor::dense(whole.o.format, {shape.rows, shape.width}),
                Tensor::dense(whole.lse.format, {shape.rows})};
  const std::int64_t row_bytes = shape.width * bytes_of(whole.o.format);
  std::copy_n(whole.o.storage.begin() + first_row * row_bytes, output.o.storage.size(), output.o.storage.begin());
  std::copy_n(whole.lse.storage.begin() + first_row * bytes_of(whole.lse.format), output.lse.storage.size(),
              output.lse.storage.begin());
  return output;
}

}  // namespace flashproof
