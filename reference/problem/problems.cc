#include "reference/problem/problems.h"

#include <fmt/format.h>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

std::string_view name(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::softmax:
      return "softmax";
    case ProblemKind::merge:
      return "merge";
    case ProblemKind::attention:
      break;
  }
  return "attention";
}

ChunkPlan ChunkPlan::uniform(std::int64_t length, std::int64_t size) {
  if (length < 0 || length > kMaxExtent) {
    throw UsageError(fmt::format("plan: length {} must be 0..{}", length, kMaxExtent));
  }
  if (size < 1) throw UsageError(fmt::format("plan: chunk size {} must be 1 or more", size));
  ChunkPlan plan;
  plan.boundary.push_back(0);
  for (std::int64_t end = 0; end < length;) {
    end = size < length - end ? end + size : length;
    plan.order.push_back(static_cast<std::int32_t>(plan.order.size()));
    plan.boundary.push_back(static_cast<std::int32_t>(end));
  }
  return plan;
}

ProblemKind kind_of(const Problem& problem) {
  return std::visit(Overloaded{[](const SoftmaxProblem&) { return ProblemKind::softmax; },
                               [](const MergeProblem&) { return ProblemKind::merge; },
                               [](const AttentionProblem&) { return ProblemKind::attention; }},
                    problem);
}

Format format_of(const Problem& problem) {
  return std::visit(
      Overloaded{[](const SoftmaxProblem& p) { return p.x.format; }, [](const MergeProblem& p) { return p.o.format; },
                 [](const AttentionProblem& p) { return p.q.format; }},
      problem);
}

OutputShape output_shape(const Problem& problem) {
  return std::visit(Overloaded{[](const SoftmaxProblem& p) { return OutputShape{p.x.shape[0], p.x.shape[1]}; },
                               [](const MergeProblem& p) {
                                 const std::int64_t blocks = p.form == MergeForm::concat ? p.o.shape[0] : 1;
                                 return OutputShape{p.o.shape[1], blocks * p.o.shape[2]};
                               },
                               [](const AttentionProblem& p) {
                                 return OutputShape{p.batch() * p.q_heads() * p.q_length(), p.value_dim()};
                               }},
                    problem);
}

}  // namespace flashproof
