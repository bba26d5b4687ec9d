#include "python/bindings/problem_dict.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "reference/problem/error.h"
#include "reference/problem/fields.h"
#include "reference/problem/text.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

template <class Bits>
nb::object array_of(const Tensor& tensor) {
  auto* storage = new std::vector<std::byte>(tensor.storage);
  storage->reserve(1);  // an array of no elements has an address too
  const nb::capsule owner(storage, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  const std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
  return nb::cast(
      nb::ndarray<nb::numpy, Bits>(storage->data(), shape.size(), shape.data(), owner, tensor.stride.data()));
}

nb::object bits_of(const Tensor& tensor) {
  switch (info(tensor.format).bits) {
    case 8:
      return array_of<std::uint8_t>(tensor);
    case 16:
      return array_of<std::uint16_t>(tensor);
    default:
      return array_of<std::uint32_t>(tensor);
  }
}

nb::object array_of(const std::vector<std::int32_t>& values) {
  auto* copy = new std::vector<std::int32_t>(values);
  copy->reserve(1);
  const nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<std::int32_t>*>(p); });
  const std::size_t shape[] = {values.size()};
  return nb::cast(nb::ndarray<nb::numpy, std::int32_t>(copy->data(), 1, shape, owner));
}

/// The key of a field in a dictionary of Python: "boundary" of plan.boundary, "do" of d_out, "concat" of form.
std::string key_of(const Field& field) {
  if (field.name == "d_out") return "do";
  if (field.name == "form") return "concat";
  return std::string(field.name.substr(field.name.rfind('.') + 1));
}

bool is_of_plan(const Field& field) { return field.name.starts_with("plan."); }

class Writer {
 public:
  Writer(const Problem& problem, bool with_plan) : with_plan_(with_plan) {
    dict_["problem"] = std::string(name(kind_of(problem)));
    dict_["format"] = std::string(info(format_of(problem)).name);
    std::visit([this](const auto& p) { put_all(p); }, problem);
  }
  nb::dict take() { return std::move(dict_); }

  void operator()(const Field& field, const Tensor& tensor) {
    if (!tensor.shape.empty()) put(field, to_pair(tensor));
  }
  void operator()(const Field& field, const std::vector<std::int32_t>& values) {
    if (is_of_plan(field) ? with_plan_ : !values.empty()) put(field, array_of(values));
  }
  void operator()(const Field& field, const std::vector<Join>& joins) {
    std::vector<std::int32_t> nodes;
    for (const Join& join : joins) nodes.insert(nodes.end(), {join.left, join.right});
    (*this)(field, nodes);
  }
  void operator()(const Field& field, float value) {
    if (field.presence == Presence::always || value != 0.0F) put(field, nb::float_(static_cast<double>(value)));
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) {
    const bool second = word.value == word.second;
    if (second && field.presence == Presence::optional) return;
    put(field, nb::bool_(field.name == "form" ? second : !second));
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) {
    if (window.left >= 0 || window.right >= 0) put(field, nb::make_tuple(window.left, window.right));
  }

 private:
  template <class P>
  void put_all(const P& p) {
    for_each_field(p, *this);
  }
  /// What a forward pass left is no argument of the callable, which makes both passes.
  void put_all(const BackwardProblem& p) {
    for_each_field(p.forward, *this);
    (*this)(Field("d_out"), p.d_out);
  }
  void put(const Field& field, const nb::object& value) { dict_[key_of(field).c_str()] = value; }

  bool with_plan_;
  nb::dict dict_;
};

class Reader {
 public:
  explicit Reader(const nb::dict& dict) : dict_(dict) {}

  Problem read() {
    switch (problem_kind(value<std::string>("problem", {}))) {
      case ProblemKind::softmax:
        return read_problem<SoftmaxProblem>();
      case ProblemKind::merge:
        return read_problem<MergeProblem>();
      case ProblemKind::attention:
        return read_problem<AttentionProblem>();
      case ProblemKind::backward:
        break;
    }
    return read_gradient();
  }

  void operator()(const Field& field, Tensor& tensor) const {
    const std::string key = key_of(field);
    if (!dict_.contains(key.c_str())) return;
    nb::tuple pair;
    std::string format;
    if (!nb::try_cast<nb::tuple>(dict_[key.c_str()], pair) || pair.size() != 2 ||
        !nb::try_cast<std::string>(pair[0], format)) {
      throw UsageError(key + ": must be a pair (format, bits)");
    }
    tensor = tensor_of(key, format_named(format), pair[1]);
    if (tensor.shape.size() != field.axes && field.presence == Presence::always && field.axes == 4) {
      throw UsageError(key + ": must have 4 axes (batch, heads, length, width)");
    }
  }
  void operator()(const Field& field, std::vector<std::int32_t>& values) const {
    values = value<std::vector<std::int32_t>>(key_of(field), {});
  }
  void operator()(const Field& field, std::vector<Join>& joins) const {
    const auto nodes = value<std::vector<std::int32_t>>(key_of(field), {});
    if (nodes.size() % 2 != 0)
      throw UsageError("joins: must be pairs (left, right), not " + std::to_string(nodes.size()) + " numbers");
    for (std::size_t i = 0; i < nodes.size(); i += 2) joins.push_back({nodes[i], nodes[i + 1]});
  }
  void operator()(const Field& field, float& number) const {
    number = static_cast<float>(value(key_of(field), static_cast<double>(number)));
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) const {
    const bool given = value(key_of(field), false);
    word.value = given == (field.name == "form") ? word.second : word.first;
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) const {
    const auto ends = value<std::vector<std::int32_t>>(key_of(field), {-1, -1});
    if (ends.size() != 2) throw UsageError("window: must be the pair (left, right)");
    window.left = ends[0];
    window.right = ends[1];
  }

 private:
  template <class T>
  T value(const std::string& key, T absent) const {
    if (!dict_.contains(key.c_str())) return absent;
    T value{};
    if (!nb::try_cast<T>(dict_[key.c_str()], value)) throw UsageError(key + ": not of the type that it must have");
    return value;
  }

  template <class P>
  Problem read_problem() const {
    P problem;
    for_each_field(problem, *this);
    add_plan(problem);
    validate(problem);
    return problem;
  }
  /// In gradient mode nothing reads o and lse: zeros of the right shape.
  Problem read_gradient() const {
    BackwardProblem p;
    p.forward = std::get<AttentionProblem>(read_problem<AttentionProblem>());
    p.mode = BackwardMode::gradient;
    (*this)(Field("d_out"), p.d_out);
    if (p.d_out.shape.empty()) throw UsageError("do: must be a pair (format, bits)");
    const std::vector<std::int64_t> rows = {p.forward.batch(), p.forward.q_heads(), p.forward.q_length()};
    p.o = Tensor::dense(p.forward.q.format, {rows[0], rows[1], rows[2], p.forward.value_dim()});
    p.lse = Tensor::dense(Format::f32, rows);
    for (Tensor* tensor : {&p.o, &p.lse}) std::ranges::fill(tensor->storage, std::byte{0});
    validate(p);
    return p;
  }
  ChunkPlan plan(std::int64_t length, ChunkPlan given) const {
    return dict_.contains("boundary") ? given : ChunkPlan::uniform(length, std::max<std::int64_t>(length, 1));
  }
  void add_plan(SoftmaxProblem& p) const { p.plan = plan(p.x.shape.size() == 2 ? p.x.shape[1] : 0, p.plan); }
  void add_plan(MergeProblem& p) const {
    if (!p.order.empty() || p.o.shape.empty()) return;
    for (std::int32_t i = 0; i < p.o.shape[0]; ++i) p.order.push_back(i);
  }
  void add_plan(AttentionProblem& p) const {
    for (const auto& [key, tensor] : {std::pair{"q", &p.q}, std::pair{"k", &p.k}, std::pair{"v", &p.v}}) {
      if (tensor->shape.empty())
        throw UsageError(std::string(key) + ": must have 4 axes (batch, heads, length, width)");
    }
    p.plan = plan(p.k_length(), p.plan);
  }

  const nb::dict& dict_;
};

}  // namespace

nb::dict to_dict(const Problem& problem) { return Writer(problem, true).take(); }

nb::dict to_arguments(const Problem& problem) { return Writer(problem, false).take(); }

nb::tuple to_pair(const Tensor& tensor) {
  return nb::make_tuple(std::string(info(tensor.format).name), bits_of(tensor));
}

Problem from_dict(const nb::dict& dict) { return Reader(dict).read(); }

Tensor tensor_of(std::string_view name, Format format, nb::handle array) {
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> bits;
  if (!nb::try_cast(array, bits) || static_cast<int>(bits.itemsize()) != bytes_of(format)) {
    throw UsageError(std::string(name) + ": must be a C-contiguous array in host memory of the bits of " +
                     std::string(info(format).name));
  }
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < bits.ndim(); ++axis) shape.push_back(static_cast<std::int64_t>(bits.shape(axis)));
  if (shape.empty()) throw UsageError(std::string(name) + ": must have an axis");
  Tensor tensor = Tensor::dense(format, std::move(shape));
  if (!tensor.storage.empty()) std::memcpy(tensor.storage.data(), bits.data(), tensor.storage.size());
  return tensor;
}

ProblemKind problem_kind(std::string_view text) {
  for (const ProblemKind kind : kProblemKinds) {
    if (name(kind) == text) return kind;
  }
  throw UsageError("problem " + quote(text) + ": legal softmax, merge, attention, attention_backward");
}

Format format_named(std::string_view text) {
  const auto format = parse_format(text);
  if (!format || *format == Format::f64)
    throw UsageError("format " + quote(text) + ": legal f32, f16, bf16, e4m3fn, e5m2");
  return *format;
}

}  // namespace flashproof::python
