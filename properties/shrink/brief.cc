#include "properties/shrink/brief.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/laws/support/change.h"
#include "reference/problem/fields.h"

namespace flashproof {
namespace {

constexpr std::int64_t kFew = 6;

std::string tensor_text(std::string_view name, const Tensor& tensor) {
  if (tensor.shape.empty()) return "";
  std::string text = fmt::format("; {} ({})", name, fmt::join(tensor.shape, ", "));
  if (tensor.stride != dense_stride(tensor.shape)) text += fmt::format(" strides ({})", fmt::join(tensor.stride, ", "));
  if (tensor.elements() > kFew || tensor.elements() == 0) return text;
  std::vector<std::string> numbers;
  for_each_offset(tensor, [&](std::int64_t offset) {
    numbers.push_back(fmt::format("{:.6g}", decode(tensor.format, tensor.bits(offset))));
  });
  return text + fmt::format(" = {}", fmt::join(numbers, ", "));
}

template <class T>
std::string list_text(std::string_view name, const std::vector<T>& list) {
  if (list.empty()) return "";
  if (static_cast<std::int64_t>(list.size()) > kFew) return fmt::format("; {} of {}", name, list.size());
  return fmt::format("; {} {}", name, fmt::join(list, ", "));
}

std::string plan_text(const ChunkPlan& plan) {
  if (plan.chunks() < 2) return "";
  return list_text("chunks end at", std::vector<std::int32_t>(plan.boundary.begin() + 1, plan.boundary.end())) +
         list_text("visited", plan.order);
}

std::string text_of(const SoftmaxProblem& p) {
  return tensor_text("x", p.x) + list_text("row_length", p.row_length) + plan_text(p.plan);
}

std::string text_of(const MergeProblem& p) {
  std::string text = p.form == MergeForm::concat ? "; concat" : "";
  text += tensor_text("o", p.o) + tensor_text("lse", p.lse) + tensor_text("l", p.l);
  if (p.order.size() > 1) text += list_text("order", p.order);
  return text + (p.joins.empty() ? "" : fmt::format("; {} joins", p.joins.size()));
}

std::string text_of(const AttentionProblem& p) {
  std::string text;
  for (const Feature feature : p.features()) text += fmt::format("; {}", name(feature));
  if (p.causal) text += "; causal";
  if (p.scale != 1.0F) text += fmt::format("; scale {:.6g}", p.scale);
  if (p.softcap != 0.0F) text += fmt::format("; cap {:.6g}", p.softcap);
  for_each_tensor(p, [&](const Field& field, const Tensor& tensor) { text += tensor_text(field.name, tensor); });
  return text + list_text("key_length", p.key_length) + plan_text(p.plan);
}

std::string text_of(const BackwardProblem& p) { return text_of(p.forward) + tensor_text("dO", p.d_out); }

}  // namespace

std::string brief(const Problem& problem) {
  const std::string text = std::visit([](const auto& p) { return text_of(p); }, problem);
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return fmt::format("{} {}{}: {}", name(kind_of(problem)), info(format_of(problem)).name,
                     gradient == nullptr ? std::string() : fmt::format(" {}", name(gradient->mode)), text.substr(2));
}

}  // namespace flashproof
