// The same numbers give the same bits (of a kernel that does not declare itself deterministic: numbers within both bounds) where they lie so far apart that element offsets exceed 2^31 and 2^32, along each axis
// in turn: rows and columns of x, states, rows and columns of a merge, batch entries or pages, heads, tokens and keys, and
// components. In sparse memory (kernels/run/far_copies.h).
#include <algorithm>

#include "properties/laws/law.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/problem/fields.h"

namespace flashproof::law::offsets_beyond_int32 {
namespace {

constexpr std::string_view kTeeth[] = {
    "softmax.broken.row_offset_of_32_bits",    "attention.broken.key_offset_of_32_bits",
    "attention.broken.bias_offset_of_32_bits", "attention.broken.head_offset_wraps",
    "merge.broken.state_offset_wraps",         "attention_backward.broken.o_offset_of_32_bits"};
// Every element along the axis has a page of its own, zeroed by the system.
constexpr std::int64_t kMost = 4096;

std::vector<std::pair<int, std::int64_t>> axes_of(const SoftmaxProblem& p) {
  return {{0, p.x.shape[0]}, {1, p.x.shape[1]}};
}
std::vector<std::pair<int, std::int64_t>> axes_of(const MergeProblem& p) {
  return {{0, p.o.shape[0]}, {1, p.o.shape[1]}, {2, p.o.shape[2]}};
}
std::vector<std::pair<int, std::int64_t>> axes_of(const AttentionProblem& p) {
  std::vector<std::pair<int, std::int64_t>> axes;
  for (const int axis : {0, 1, 2, 3}) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t of_bias = p.has_bias() ? p.bias.shape[a] : 0;
    axes.emplace_back(axis, std::max({p.q.shape[a], p.k.shape[a], p.v.shape[a], of_bias}));
  }
  return axes;
}

std::vector<std::pair<int, std::int64_t>> axes_of(const BackwardProblem& p) { return axes_of(p.forward); }

/// The tensor with another stride along the axis, to ask whether the kernel takes any: its numbers are zeros.
void change_stride(Tensor& t, int axis) {
  const auto at = static_cast<std::size_t>(axis);
  if (at >= t.shape.size()) return;
  std::vector<std::int64_t> stride = t.stride;
  ++stride[at];
  t = Tensor::strided(t.format, t.shape, std::move(stride));
  std::ranges::fill(t.storage, std::byte{0});
}
Problem with_strides(Problem problem, int axis) {
  std::visit([&](auto& p) { for_each_tensor(p, [&](const Field&, Tensor& t) { change_stride(t, axis); }); }, problem);
  return problem;
}

Verdict relate(Trial& trial) {
  if (!on_cpu(trial)) return unsupported("only the CPU executor has sparse memory");
  if (no_rows(trial.problem())) return vacuous("no row");
  Comparison tally;
  const auto axes = std::visit([](const auto& p) { return axes_of(p); }, trial.problem());
  for (const auto& [axis, extent] : axes) {
    if (extent < 2 || extent > kMost) continue;
    if (!tally.taken(trial.refusal(with_strides(trial.problem(), axis)))) continue;
    RunOptions options = trial.options();
    options.far_axis = axis;
    const bool same = tally.add(same_outputs(trial, trial.run(trial.problem(), options), trial.output()), Failure::leak,
                                ", offsets along axis " + std::to_string(axis) + " beyond 2^32 against as given");
    if (!same) break;
  }
  return tally.verdict("no axis has between 2 and " + std::to_string(kMost) + " elements");
}

}  // namespace

Law offsets_beyond_int32() {
  return {"the same bits where element offsets exceed 2^31 and 2^32", kTeeth, relate, relate};
}

}  // namespace flashproof::law::offsets_beyond_int32
