#include "python/bindings/problem_dict.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>
#include <utility>

#include "reference/problem/error.h"
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

class Writer {
 public:
  Writer(const Problem& problem, bool with_plan) : with_plan_(with_plan) {
    dict_["problem"] = std::string(name(kind_of(problem)));
    dict_["format"] = std::string(info(format_of(problem)).name);
    std::visit([this](const auto& p) { put(p); }, problem);
  }
  nb::dict take() { return std::move(dict_); }

 private:
  void put(const char* key, const Tensor& tensor) {
    if (!tensor.shape.empty()) dict_[key] = to_pair(tensor);
  }
  void put(const char* key, const std::vector<std::int32_t>& values) {
    if (!values.empty()) dict_[key] = array_of(values);
  }
  void put(const ChunkPlan& plan) {
    if (!with_plan_) return;
    dict_["boundary"] = array_of(plan.boundary);
    dict_["order"] = array_of(plan.order);
  }

  void put(const SoftmaxProblem& p) {
    put("x", p.x);
    put("row_length", p.row_length);
    put(p.plan);
  }
  void put(const MergeProblem& p) {
    put("o", p.o);
    put("lse", p.lse);
    put("l", p.l);
    put("order", p.order);
    std::vector<std::int32_t> joins;
    for (const Join& join : p.joins) joins.insert(joins.end(), {join.left, join.right});
    put("joins", joins);
    dict_["concat"] = p.form == MergeForm::concat;
  }
  void put(const AttentionProblem& p) {
    for (const auto& [key, tensor] :
         {std::pair{"q", &p.q}, std::pair{"k", &p.k}, std::pair{"v", &p.v}, std::pair{"bias", &p.bias},
          std::pair{"alibi", &p.alibi}, std::pair{"sink", &p.sink}, std::pair{"q_descale", &p.q_descale},
          std::pair{"k_descale", &p.k_descale}, std::pair{"v_descale", &p.v_descale}}) {
      put(key, *tensor);
    }
    dict_["scale"] = static_cast<double>(p.scale);
    dict_["causal"] = p.causal;
    if (p.window_left >= 0 || p.window_right >= 0) dict_["window"] = nb::make_tuple(p.window_left, p.window_right);
    if (p.softcap != 0.0F) dict_["softcap"] = static_cast<double>(p.softcap);
    put("key_length", p.key_length);
    put("q_start", p.q_start);
    put("k_start", p.k_start);
    put("page_table", p.page_table);
    put(p.plan);
  }
  void put(const BackwardProblem& p) {
    put(p.forward);
    put("do", p.d_out);
  }

  bool with_plan_;
  nb::dict dict_;
};

class Reader {
 public:
  explicit Reader(const nb::dict& dict) : dict_(dict) {}

  Problem read() {
    switch (problem_kind(value<std::string>("problem", {}))) {
      case ProblemKind::softmax:
        return softmax();
      case ProblemKind::merge:
        return merge();
      case ProblemKind::attention:
        return attention();
      case ProblemKind::backward:
        break;
    }
    throw UsageError("problem: legal softmax, merge, attention");
  }

 private:
  template <class T>
  T value(const char* key, T absent) const {
    if (!dict_.contains(key)) return absent;
    T value{};
    if (!nb::try_cast<T>(dict_[key], value)) throw UsageError(std::string(key) + ": not of the type that it must have");
    return value;
  }
  Tensor tensor(const char* key) const {
    if (!dict_.contains(key)) return {};
    nb::tuple pair;
    std::string format;
    if (!nb::try_cast<nb::tuple>(dict_[key], pair) || pair.size() != 2 || !nb::try_cast<std::string>(pair[0], format)) {
      throw UsageError(std::string(key) + ": must be a pair (format, bits)");
    }
    return tensor_of(key, format_named(format), pair[1]);
  }
  std::vector<std::int32_t> numbers(const char* key) const { return value<std::vector<std::int32_t>>(key, {}); }
  ChunkPlan plan(std::int64_t length) const {
    if (!dict_.contains("boundary")) return ChunkPlan::uniform(length, std::max<std::int64_t>(length, 1));
    return {numbers("boundary"), numbers("order")};
  }

  Problem softmax() const {
    SoftmaxProblem p;
    p.x = tensor("x");
    p.row_length = numbers("row_length");
    p.plan = plan(p.x.shape.size() == 2 ? p.x.shape[1] : 0);
    return checked(std::move(p));
  }
  Problem merge() const {
    MergeProblem p;
    p.o = tensor("o");
    p.lse = tensor("lse");
    p.l = tensor("l");
    p.order = numbers("order");
    if (p.order.empty() && !p.o.shape.empty()) {
      for (std::int32_t i = 0; i < p.o.shape[0]; ++i) p.order.push_back(i);
    }
    const std::vector<std::int32_t> joins = numbers("joins");
    if (joins.size() % 2 != 0)
      throw UsageError("joins: must be pairs (left, right), not " + std::to_string(joins.size()) + " numbers");
    for (std::size_t i = 0; i + 1 < joins.size(); i += 2) p.joins.push_back({joins[i], joins[i + 1]});
    if (value("concat", false)) p.form = MergeForm::concat;
    return checked(std::move(p));
  }
  Problem attention() const {
    AttentionProblem p;
    for (const auto& [key, to] :
         {std::pair{"q", &p.q}, std::pair{"k", &p.k}, std::pair{"v", &p.v}, std::pair{"bias", &p.bias},
          std::pair{"alibi", &p.alibi}, std::pair{"sink", &p.sink}, std::pair{"q_descale", &p.q_descale},
          std::pair{"k_descale", &p.k_descale}, std::pair{"v_descale", &p.v_descale}}) {
      *to = tensor(key);
    }
    for (const auto& [key, axes] : {std::pair{"q", &p.q}, std::pair{"k", &p.k}, std::pair{"v", &p.v}}) {
      if (axes->shape.size() != 4)
        throw UsageError(std::string(key) + ": must have 4 axes (batch, heads, length, width)");
    }
    p.scale = static_cast<float>(value("scale", 1.0));
    p.causal = value("causal", false);
    const auto window = value<std::vector<std::int32_t>>("window", {-1, -1});
    if (window.size() != 2) throw UsageError("window: must be the pair (left, right)");
    p.window_left = window[0];
    p.window_right = window[1];
    p.softcap = static_cast<float>(value("softcap", 0.0));
    p.key_length = numbers("key_length");
    p.q_start = numbers("q_start");
    p.k_start = numbers("k_start");
    p.page_table = numbers("page_table");
    p.plan = plan(p.k_length());
    return checked(std::move(p));
  }
  static Problem checked(Problem problem) {
    validate(problem);
    return problem;
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
  for (const ProblemKind kind : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
    if (name(kind) == text) return kind;
  }
  throw UsageError("problem " + quote(text) + ": legal softmax, merge, attention");
}

Format format_named(std::string_view text) {
  const auto format = parse_format(text);
  if (!format || *format == Format::f64)
    throw UsageError("format " + quote(text) + ": legal f32, f16, bf16, e4m3fn, e5m2");
  return *format;
}

}  // namespace flashproof::python
