// The as-published kernels fail exactly where their sources' formulas break, and pass the control: a harness that
// cannot see these, or sees them everywhere, is broken itself.
#include <gtest/gtest.h>

#include <string>

#include "kernels/run.h"
#include "properties/generators/family.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

struct Expectation {
  const char* kernel;
  const char* family;
  const char* keys;  // shapes that leave only the hazard
  Failure failure;   // none: must pass
};

const Expectation kExpectations[] = {
    // seed 004: a thread whose first column is −inf; nothing beyond the last full stride of 512
    {"softmax.online_block.published", "normal", "cols=1024", Failure::none},
    {"softmax.online_block.published", "mask_random", "cols=1024", Failure::class_mismatch},
    {"softmax.online_block.published", "mask_row", "cols=1024", Failure::class_mismatch},
    {"softmax.online_block.published", "normal", "cols=1025", Failure::class_mismatch},
    {"softmax.online_block.published", "normal", "cols=511", Failure::class_mismatch},
    // seed 001: only a first visited chunk of −inf
    {"softmax.online_two_pass.published", "normal", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "mask_first_tile", "cols=1000", Failure::class_mismatch},
    {"softmax.online_two_pass.published", "mask_middle_tile", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "mask_last_tile", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "overflow_edge", "cols=1000", Failure::none},
    // seed 002: e^{lse1 − lse0} beyond 88.7, −inf beside anything
    {"merge.pairwise.published", "normal", "form=concat", Failure::none},
    {"merge.pairwise.published", "mask_first_tile", "form=concat", Failure::class_mismatch},
    {"merge.pairwise.published", "overflow_edge", "form=concat", Failure::class_mismatch},
    // seed 003: any chunk without a visible key
    {"attention.online_chunk.published", "normal", "sq=5", Failure::none},
    {"attention.online_chunk.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "mask_middle_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "mask_last_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "staircase", "sq=5", Failure::none},
};

Verdict judged(const Kernel& kernel, const Problem& problem) {
  return judge(run(kernel, problem), compute_truth(problem), compute_bound(problem, kernel.arithmetic), kernel.contract,
               0)
      .worst;
}

TEST(Published, fails_where_its_formula_breaks_and_nowhere_else) {
  for (const Expectation& e : kExpectations) {
    const Kernel* kernel = find_kernel(e.kernel);
    ASSERT_NE(kernel, nullptr) << e.kernel;
    const std::string hardened_id = std::string(e.kernel).substr(0, std::string(e.kernel).rfind('.')) + ".hardened";
    const Kernel* hardened = find_kernel(hardened_id);
    ASSERT_NE(hardened, nullptr) << hardened_id;
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const std::string line =
          std::string(name(kernel->problem)) + ":" + e.family + ":" + std::to_string(seed) + ":" + e.keys;
      const Case subject = make_case(parse_case_spec(line));
      const Verdict verdict = judged(*kernel, subject.problem);
      EXPECT_FALSE(judged(*hardened, subject.problem).failed()) << hardened_id << " " << line;
      if (e.failure == Failure::none) {
        EXPECT_EQ(verdict.kind, VerdictKind::pass) << e.kernel << " " << line << " " << verdict.detail;
      } else {
        failed += verdict.failed() && verdict.failure == e.failure;
      }
    }
    if (e.failure != Failure::none) {
      EXPECT_GE(failed, 1) << e.kernel << " must fail on " << e.family << " " << e.keys;
    }
  }
}

}  // namespace
}  // namespace flashproof
