// What the diffs of the seeded faults say of today's habits, against what these habits see.
#include "reports/faults/habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/broken/fault.h"

namespace flashproof {
namespace {

// The column is computed; this is the check that the diffs were told the truth.
TEST(Habits, see_the_faults_marked_gross_and_no_others) {
  std::vector<std::string> untested;
  for (const SeededFault& f : seeded_faults()) {
    const Kernel& kernel = *find_kernel(f.id);
    if (kernel.problem == ProblemKind::backward) continue;  // the diffs are of forward kernels
    const Habits habits = ask_habits(kernel, *find_kernel(f.kernel));
    if (!habits.allclose.tested && !habits.twice.tested) untested.emplace_back(f.id);
    EXPECT_EQ(habits.allclose.sees || habits.twice.sees, f.gross)
        << f.number << " " << f.id << ": allclose " << habits.allclose.where << "; twice " << habits.twice.where;
  }
  // The kernels without these faults keep weights in 8 bits: they fail both tests on every problem, so no test is in use.
  EXPECT_THAT(untested,
              testing::UnorderedElementsAre("attention.broken.rescale_skipped", "attention.broken.weights_not_lifted"));
}

}  // namespace
}  // namespace flashproof
