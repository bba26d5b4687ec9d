// The same numbers give the same bits where they lie so far apart that element offsets exceed 2^31: along the first axis
// (rows of x, states, batch entries) and along that of rows, tokens and keys. In sparse memory (kernels/far_copies.h).
#include <algorithm>

#include "properties/laws/compare.h"
#include "properties/laws/layout.h"
#include "properties/laws/list.h"

namespace flashproof {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.row_offset_of_32_bits",
                                       "attention.broken.key_offset_of_32_bits"};
// Every element along the axis has a page of its own, zeroed by the system.
constexpr std::int64_t kMost = 4096;

std::vector<std::pair<int, std::int64_t>> axes_of(const SoftmaxProblem& p) {
  return {{0, p.x.shape[0]}, {1, p.x.shape[1]}};
}
std::vector<std::pair<int, std::int64_t>> axes_of(const MergeProblem& p) {
  return {{0, p.o.shape[0]}, {1, p.o.shape[1]}};
}
std::vector<std::pair<int, std::int64_t>> axes_of(const AttentionProblem& p) {
  std::vector<std::pair<int, std::int64_t>> axes;
  for (const int axis : {0, 2}) {
    const auto a = static_cast<std::size_t>(axis);
    axes.emplace_back(axis, std::max({p.q.shape[a], p.k.shape[a], p.v.shape[a]}));
  }
  return axes;
}

/// The problem with other strides along the axis, to ask whether the kernel takes any: its numbers are zeros.
Problem with_strides(Problem problem, int axis) {
  const auto change = [&](Tensor& t) {
    const auto at = static_cast<std::size_t>(axis);
    if (at >= t.shape.size()) return;
    std::vector<std::int64_t> stride = t.stride;
    ++stride[at];
    t = Tensor::strided(t.format, t.shape, std::move(stride));
    std::ranges::fill(t.storage, std::byte{0});
  };
  std::visit([&](auto& p) { for_each_tensor(p, change); }, problem);
  return problem;
}

Verdict relate(Trial& trial) {
  if (trial.options().executor != Executor::cpu || trial.kernel().foreign) {
    return {VerdictKind::unsupported, Failure::none, "only the CPU executor has sparse memory"};
  }
  if (!trial.contract().deterministic) {
    return {VerdictKind::unsupported, Failure::none, "the kernel does not declare itself deterministic"};
  }
  if (output_shape(trial.problem()).rows == 0) return {VerdictKind::vacuous, Failure::none, "no row"};
  bool tested = false;
  std::string refused;
  for (const auto& [axis, extent] : std::visit([](const auto& p) { return axes_of(p); }, trial.problem())) {
    if (extent < 2 || extent > kMost) continue;
    if (std::string why = trial.refusal(with_strides(trial.problem(), axis)); !why.empty()) {
      refused = std::move(why);
      continue;
    }
    RunOptions options = trial.options();
    options.far_axis = axis;
    const std::string difference = first_difference(trial.run(trial.problem(), options), trial.output());
    if (!difference.empty()) {
      return {VerdictKind::fail, Failure::leak,
              difference + ", offsets along axis " + std::to_string(axis) + " beyond 2^31 against as given"};
    }
    tested = true;
  }
  if (!tested && !refused.empty()) return {VerdictKind::unsupported, Failure::none, std::move(refused)};
  if (!tested) {
    return {VerdictKind::vacuous, Failure::none, "no axis has between 2 and " + std::to_string(kMost) + " elements"};
  }
  return {};
}

}  // namespace

Law offsets_beyond_int32() {
  return {.name = "offsets_beyond_int32",
          .summary = "the same bits where element offsets exceed 2^31",
          .relate = relate,
          .must_reject = kTeeth};
}

}  // namespace flashproof
