// The fp64 tier: one entrance for the three problems.
#include <algorithm>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/fp64/merge.h"
#include "reference/oracle/fp64/softmax.h"
#include "reference/oracle/fp64/vector/highway_targets.h"
#include "reference/oracle/tiers.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

void tier(const SoftmaxProblem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
          std::span<RowCause> cause) {
  fp64_softmax(problem, rows, threads, truth, cause);
}
void tier(const MergeProblem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
          std::span<RowCause> cause) {
  fp64_merge(problem, rows, threads, truth, cause);
}
void tier(const AttentionProblem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
          std::span<RowCause> cause) {
  fp64_attention(problem, rows, threads, truth, cause);
}

}  // namespace

bool has_fp64_tier() {
  // Asked once: CPUID traps in a virtual machine, and the ten of Highway take 15 us.
  static const bool has = (hwy::SupportedTargets() & HWY_TARGETS) != 0;
  return has;
}

void fp64_tier(const Problem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
               std::span<RowCause> cause) {
  if (!has_fp64_tier()) throw InfrastructureError("oracle: the fp64 tier needs a CPU with AVX2 and FMA");
  truth = Truth::sized(static_cast<std::int64_t>(rows.size()), output_shape(problem).width, Tier::fp64);
  std::ranges::fill(cause, RowCause{});
  visit_forward([&](const auto& p) { tier(p, rows, threads, truth, cause); }, problem);
}

}  // namespace flashproof
