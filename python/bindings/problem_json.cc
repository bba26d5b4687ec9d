#include "python/bindings/problem_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "python/bindings/values.h"
#include "reference/problem/fields.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::python {
namespace {

std::string placed_integers(const void* first, std::size_t count) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(count)}, strides[] = {sizeof(std::int32_t)};
  return placed("int32", first, shape, strides, count * sizeof(std::int32_t));
}

/// The member of a field: "boundary" of plan.boundary, "do" of d_out, "concat" of form.
std::string key_of(const Field& field) {
  if (field.name == "d_out") return "do";
  if (field.name == "form") return "concat";
  return std::string(field.name.substr(field.name.rfind('.') + 1));
}

bool is_of_plan(const Field& field) { return field.name.starts_with("plan."); }

class Writer {
 public:
  Writer(const Problem& problem, bool with_plan) : with_plan_(with_plan) {
    text_ = fmt::format(R"({{"problem":"{}","format":"{}")", name(kind_of(problem)), info(format_of(problem)).name);
    std::visit([this](const auto& p) { put_all(p); }, problem);
  }
  std::string take() { return std::move(text_) + "}"; }

  void operator()(const Field& field, const Tensor& tensor) {
    if (tensor.shape.empty()) return;
    std::vector<std::int64_t> strides = tensor.stride;
    for (std::int64_t& stride : strides) stride *= bytes_of(tensor.format);
    put(field, placed(info(tensor.format).name, tensor.storage.data(), tensor.shape, strides, tensor.storage.size()));
  }
  void operator()(const Field& field, const std::vector<std::int32_t>& values) {
    if (is_of_plan(field) ? with_plan_ : !values.empty()) put(field, placed_integers(values.data(), values.size()));
  }
  void operator()(const Field& field, const std::vector<Join>& joins) {
    static_assert(sizeof(Join) == 2 * sizeof(std::int32_t) && std::is_standard_layout_v<Join>);
    if (!joins.empty()) put(field, placed_integers(joins.data(), 2 * joins.size()));
  }
  void operator()(const Field& field, float value) {
    if (field.presence == Presence::always || value != 0.0F) put(field, number(static_cast<double>(value)).dump());
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) {
    const bool second = word.value == word.second;
    if (second && field.presence == Presence::optional) return;
    put(field, (field.name == "form") == second ? "true" : "false");
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) {
    if (window.left >= 0 || window.right >= 0) put(field, fmt::format("[{},{}]", window.left, window.right));
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
  void put(const Field& field, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), R"(,"{}":{})", key_of(field), value);
  }

  bool with_plan_;
  std::string text_;
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Problem read() {
    switch (problem_kind(value<std::string>(json_, "problem"))) {
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
    if (!json_.contains(key)) return;
    const Json& pair = json_[key];
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
      throw UsageError(key + ": must be a pair (format, bits)");
    tensor = tensor_of(key, format_named(pair[0].get<std::string>()), pair[1]);
    if (tensor.shape.size() != field.axes && field.presence == Presence::always && field.axes == 4) {
      throw UsageError(key + ": must have 4 axes (batch, heads, length, width)");
    }
  }
  void operator()(const Field& field, std::vector<std::int32_t>& values) const {
    values = value_or<std::vector<std::int32_t>>(json_, key_of(field), {});
  }
  void operator()(const Field& field, std::vector<Join>& joins) const {
    const auto nodes = value_or<std::vector<std::int32_t>>(json_, key_of(field), {});
    if (nodes.size() % 2 != 0)
      throw UsageError("joins: must be pairs (left, right), not " + std::to_string(nodes.size()) + " numbers");
    for (std::size_t i = 0; i < nodes.size(); i += 2) joins.push_back({nodes[i], nodes[i + 1]});
  }
  void operator()(const Field& field, float& number) const {
    number = static_cast<float>(value_or(json_, key_of(field), static_cast<double>(number)));
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) const {
    const bool given = value_or(json_, key_of(field), false);
    word.value = given == (field.name == "form") ? word.second : word.first;
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) const {
    const auto ends = value_or<std::vector<std::int32_t>>(json_, key_of(field), {-1, -1});
    if (ends.size() != 2) throw UsageError("window: must be the pair (left, right)");
    window.left = ends[0];
    window.right = ends[1];
  }

 private:
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
    return json_.contains("boundary") ? std::move(given)
                                      : ChunkPlan::uniform(length, std::max<std::int64_t>(length, 1));
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

  const Json& json_;
};

}  // namespace

std::string placed(std::string_view elements, const void* first, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> strides, std::size_t bytes) {
  return fmt::format(R"(["{}",[{}],[{}],{},{}])", elements, fmt::join(shape, ","), fmt::join(strides, ","),
                     std::bit_cast<std::uintptr_t>(first), bytes);
}

std::string to_json(const Problem& problem) { return Writer(problem, true).take(); }

std::string to_arguments(const Problem& problem) { return Writer(problem, false).take(); }

Problem from_json(const Json& json) { return Reader(json).read(); }

Tensor tensor_of(std::string_view name, Format format, const Json& array) {
  if (!array.is_object() || value<int>(array, "itemsize") != bytes_of(format)) {
    throw UsageError(std::string(name) + ": must be a C-contiguous array in host memory of the bits of " +
                     std::string(info(format).name));
  }
  auto shape = value<std::vector<std::int64_t>>(array, "shape");
  if (shape.empty()) throw UsageError(std::string(name) + ": must have an axis");
  Tensor tensor = Tensor::dense(format, std::move(shape));
  if (!tensor.storage.empty())
    std::memcpy(tensor.storage.data(), std::bit_cast<const void*>(value<std::uintptr_t>(array, "address")),
                tensor.storage.size());
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
