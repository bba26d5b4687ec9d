// The figures that bounds of native math take from a shipped profile, computed again without a GPU: the CPU executor's native
// functions on all 2^32 patterns, against the truth that the probe uses. The profile was measured on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "kernels/probe/probe.h"
#include "kernels/run/native_kernel.h"
#include "kernels/simt/native_math.h"

namespace flashproof::probe {
namespace {

ProbeCounts sweep(const Function& function, float (*f)(float)) {
  const Task task = task_of(function);
  const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<ProbeCounts> parts(threads);
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      ProbeCounts mine;
      for (std::uint64_t bits = t; bits < std::uint64_t{1} << 32; bits += threads) {
        mine.add(task, f, static_cast<std::uint32_t>(bits));
      }
      parts[t] = mine;
    });
  }
  for (std::thread& worker : workers) worker.join();
  ProbeCounts sum;
  for (const ProbeCounts& part : parts) sum.merge(part);
  return sum;
}

void expect_figures(std::string_view name, float (*f)(float)) {
  const Profile profile = modelled_profile();
  const FunctionProfile* const shipped = profile.function(name);
  ASSERT_NE(shipped, nullptr);
  const auto function = std::ranges::find(functions(), name, &Function::name);
  ASSERT_NE(function, functions().end());
  const FunctionProfile computed = figures(*function, sweep(*function, f));
  EXPECT_EQ(computed.above_one, shipped->above_one);
  EXPECT_EQ(computed.falls, shipped->falls);
  EXPECT_EQ(computed.largest_fall, shipped->largest_fall);
  EXPECT_EQ(computed.lost_nans, shipped->lost_nans);
  EXPECT_EQ(computed.invented_nans, shipped->invented_nans);
  EXPECT_EQ(computed.exact_at_zero, shipped->exact_at_zero);
  EXPECT_EQ(computed.flushes_inputs, shipped->flushes_inputs);
  EXPECT_EQ(computed.flushes_results, shipped->flushes_results);
  ASSERT_EQ(computed.regions.size(), shipped->regions.size());
  for (std::size_t i = 0; i < computed.regions.size(); ++i) {
    const RegionFigure &mine = computed.regions[i], &theirs = shipped->regions[i];
    EXPECT_EQ(mine.inputs, theirs.inputs) << mine.name;
    EXPECT_EQ(mine.error, theirs.error) << mine.name;
    EXPECT_EQ(mine.worst, theirs.worst) << mine.name;
  }
}

TEST(ModelOfProfile, exp2) { expect_figures(kNativeExp2, simt::native_exp2); }
TEST(ModelOfProfile, log) { expect_figures(kNativeLog, simt::native_log); }
TEST(ModelOfProfile, reciprocal) { expect_figures(kNativeReciprocal, simt::native_reciprocal); }
TEST(ModelOfProfile, tanh) { expect_figures(kNativeTanh, simt::native_tanh); }

}  // namespace
}  // namespace flashproof::probe
