#include "fuzz/batch/concatenate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

namespace flashproof {
namespace {

using Tensors = std::initializer_list<const Tensor*>;

bool dense(const Tensor& t) {
  return t.stride == dense_stride(t.shape) &&
         static_cast<std::int64_t>(t.storage.size()) == t.elements() * bytes_of(t.format);
}

bool all_dense(Tensors tensors) {
  return std::ranges::all_of(tensors, [](const Tensor* t) { return t->shape.empty() || dense(*t); });
}

/// Everything of a tensor that must agree: its format and its shape without one axis; "-" for no tensor.
std::string sort_of(const Tensor& t, std::size_t axis) {
  if (t.shape.empty()) return "-";
  std::string text = std::string(info(t.format).name);
  for (std::size_t i = 0; i < t.shape.size(); ++i) text += i == axis ? " *" : fmt::format(" {}", t.shape[i]);
  return text;
}

std::string plan_of(const ChunkPlan& plan) {
  return fmt::format("{}/{}", fmt::join(plan.boundary, ","), fmt::join(plan.order, ","));
}

std::string key_of(const SoftmaxProblem& p) {
  if (!all_dense({&p.x})) return "";
  return fmt::format("softmax {} {} {}", sort_of(p.x, 0), p.row_length.empty(), plan_of(p.plan));
}

std::string key_of(const MergeProblem& p) {
  if (!all_dense({&p.o, &p.lse, &p.l})) return "";
  std::string key = fmt::format("merge {} {} {} {}", sort_of(p.o, 1), p.has_l(), fmt::join(p.order, ","),
                                p.form == MergeForm::sum ? "sum" : "concat");
  for (const Join& j : p.joins) key += fmt::format(" {}+{}", j.left, j.right);
  return key;
}

std::string key_of(const AttentionProblem& p) {
  const bool joinable = !p.packed() && !p.paged() && !p.has_sink() &&
                        all_dense({&p.q, &p.k, &p.v, &p.bias, &p.alibi, &p.q_descale, &p.k_descale, &p.v_descale});
  if (!joinable) return "";
  std::string key = fmt::format("attention {:a} {} {} {} {:a} {} {}", p.scale, p.causal, p.window_left, p.window_right,
                                p.softcap, p.key_length.empty(), plan_of(p.plan));
  for (const Tensor* t : {&p.q, &p.k, &p.v, &p.bias, &p.alibi, &p.q_descale, &p.k_descale, &p.v_descale})
    key += " | " + sort_of(*t, 0);
  return key;
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

template <class P>
struct Parts {
  std::span<const Problem* const> problems;

  const P& operator[](std::size_t i) const { return std::get<P>(*problems[i]); }
  Tensor joined(Tensor P::* member, std::size_t axis) const {
    std::vector<const Tensor*> tensors;
    tensors.reserve(problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) tensors.push_back(&((*this)[i].*member));
    return join(tensors, axis);
  }
  std::vector<std::int32_t> appended(std::vector<std::int32_t> P::* member) const {
    std::vector<std::int32_t> all;
    for (std::size_t i = 0; i < problems.size(); ++i)
      all.insert(all.end(), ((*this)[i].*member).begin(), ((*this)[i].*member).end());
    return all;
  }
};

Problem join_as(const SoftmaxProblem& first, std::span<const Problem* const> problems) {
  const Parts<SoftmaxProblem> parts{problems};
  return SoftmaxProblem{parts.joined(&SoftmaxProblem::x, 0), parts.appended(&SoftmaxProblem::row_length), first.plan};
}

Problem join_as(const MergeProblem& first, std::span<const Problem* const> problems) {
  const Parts<MergeProblem> parts{problems};
  MergeProblem whole;
  whole.o = parts.joined(&MergeProblem::o, 1);
  whole.lse = parts.joined(&MergeProblem::lse, 1);
  whole.l = parts.joined(&MergeProblem::l, 1);
  whole.order = first.order;
  whole.joins = first.joins;
  whole.form = first.form;
  return whole;
}

Problem join_as(const AttentionProblem& first, std::span<const Problem* const> problems) {
  const Parts<AttentionProblem> parts{problems};
  AttentionProblem whole;
  for (Tensor AttentionProblem::* member :
       {&AttentionProblem::q, &AttentionProblem::k, &AttentionProblem::v, &AttentionProblem::bias,
        &AttentionProblem::alibi, &AttentionProblem::q_descale, &AttentionProblem::k_descale,
        &AttentionProblem::v_descale})
    whole.*member = parts.joined(member, 0);
  whole.key_length = parts.appended(&AttentionProblem::key_length);
  whole.scale = first.scale;
  whole.causal = first.causal;
  whole.window_left = first.window_left;
  whole.window_right = first.window_right;
  whole.softcap = first.softcap;
  whole.plan = first.plan;
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
