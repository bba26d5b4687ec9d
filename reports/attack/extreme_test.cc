// The hardened kernels on problems whose magnitudes are drawn over all that is legal (reference/model/attack/attack_extreme.h), against
// the bounds of their own declarations: none may leave its bound, or answer a row of its domain with inf or NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/run/run.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/model/attack/attack_extreme.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/system/error.h"
#include "reference/system/test/test_name.h"

#ifndef FLASHPROOF_EXTREME_KERNEL_CASES  // drawn for each kernel; it takes a part of them
#define FLASHPROOF_EXTREME_KERNEL_CASES 400
#endif

namespace flashproof {
namespace {

std::vector<const Kernel*> hardened() {
  std::vector<const Kernel*> list;
  // The gradient's bound meets such problems in reference/bound/backward/test/extreme_test.cc.
  for (const ProblemKind problem : kForwardKinds) {
    for (const Kernel& kernel : kernels_of(problem)) {
      if (kernel.form == Form::hardened) list.push_back(&kernel);
    }
  }
  return list;
}

/// The same keys in pages of 2.
Problem paged(const Problem& problem, std::uint64_t seed) {
  Random random(seed, 43);
  return test::in_pages(std::get<AttentionProblem>(problem), 2, random);
}

constexpr int kCounted = 400;  // the first cases, of which the rows in the domain are held

/// Rows in the domain among the first kCounted cases, as this test prints them: a kernel that takes fewer problems, or a bound
/// that excuses more of them, tests less.
int rows_in_domain(const Kernel& kernel) {
  static const std::map<std::string_view, int> kOwn{
      {"attention.fused.hardened", 134},
      {"attention.lse_running.hardened", 151},
      {"attention.mma_bf16.hardened", 16},
      {"attention.mma_e4m3p.hardened", 17},
      {"attention.mma_e4m3p_scaled.hardened", 15},
      {"attention.mma_f16.hardened", 17},
      {"attention.mma_subtract_bf16.hardened", 24},
      {"attention.mma_subtract_f16.hardened", 23},
      {"attention.paged.hardened", 97},
      {"attention.split_kv.hardened", 187},
      {"attention.split_kv_bf16.hardened", 65},
      {"attention.split_kv_f16.hardened", 71},
      {"attention.subtract_scale.hardened", 158},
      {"merge.states.hardened", 384},
      {"merge.states_tree.hardened", 379},
      {"softmax.merge_md.hardened", 358},
  };
  if (const auto own = kOwn.find(kernel.id); own != kOwn.end()) return own->second;
  return kernel.problem == ProblemKind::softmax ? 400 : kernel.problem == ProblemKind::merge ? 303 : 193;
}

class ExtremeKernels : public testing::TestWithParam<const Kernel*> {};

TEST_P(ExtremeKernels, stay_within_their_bounds) {
  const Kernel& kernel = *GetParam();
  int taken = 0, rows = 0, in_domain = 0, counted = 0, wrong = 0;
  for (std::uint64_t seed = 0; seed < FLASHPROOF_EXTREME_KERNEL_CASES; ++seed) {
    Problem problem = attack::extreme(kernel.problem, seed).problem;
    if (kernel.unsupported.takes(Feature::paged) && seed % 2 == 0) problem = paged(problem, seed);
    if (!kernel.supports(format_of(problem)) || !kernel.unsupported(problem).empty()) continue;
    Bound bound;
    try {
      bound = compute_bound(problem, kernel.arithmetic);
    } catch (const UsageError&) {
      continue;  // no bound for this problem, by name
    }
    ++taken;
    rows += static_cast<int>(bound.domain.size());
    const auto inside = static_cast<int>(std::ranges::count_if(bound.domain, &RowDomain::holds));
    in_domain += inside;
    counted += seed < kCounted ? inside : 0;
    Oracle oracle(problem);
    const Judgement judgement = judge(run(kernel, problem), oracle, bound, kernel.contract, 0);
    if (!judgement.worst.failed() || ++wrong > 3) continue;
    ADD_FAILURE() << "attack::extreme(" << name(kernel.problem) << ", " << seed << "): " << judgement.worst.detail;
  }
  EXPECT_EQ(wrong, 0);
  const int held = rows_in_domain(kernel);
  EXPECT_GE(counted, held - held / 10) << "rows in the domain of the first " << kCounted << " cases; were " << held;
  std::cout << kernel.id << ": " << taken << " problems taken, " << in_domain << " of " << rows
            << " rows in the domain\n";
}

INSTANTIATE_TEST_SUITE_P(all, ExtremeKernels, testing::ValuesIn(hardened()),
                         [](const auto& info) { return test_name(info.param->id); });

}  // namespace
}  // namespace flashproof
