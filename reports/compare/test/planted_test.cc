// Whole reports, as report.json has them: of one build ten times, of other seeds, and with one ulp planted in exp2.
#include <memory>

#include "kernels/broken/fault.h"
#include "reports/compare/comparison.h"
#include "reports/compare/test/compare_fixture.h"
#include "reports/record/report.h"

namespace flashproof::compare {
namespace {

/// The report of a sweep over `kernels`.
Document reported(std::vector<const Kernel*> kernels, const Filters& filters, std::uint64_t seed, int jobs = 1) {
  Plan plan = make_plan(filters, SweepTier::quick, seed, {Executor::cpu});
  plan.kernels = std::move(kernels);
  Report report;
  report.plan = &plan;
  SweepOptions options;
  options.jobs = jobs;
  report.result = sweep(plan, options);
  Run run;
  run.environment.revision = "0123";
  run.environment.tier = name(SweepTier::quick);
  run.environment.seed = seed;
  run.environment.gpu = "not used";
  report.runs = {run};
  return document_of(std::move(report), "seed " + std::to_string(seed));
}

struct Softmaxes {
  Filters filters{{"softmax.*.hardened"}, {"normal", "sum_overflow", "special_values"}, {"f32", "f16"}};
  std::vector<const Kernel*> kernels = select_kernels(filters.kernels);
};

TEST(planted, ten_reports_of_one_build_and_seed_show_no_change) {
  const Softmaxes s;
  const Document first = reported(s.kernels, s.filters, 0);
  EXPECT_GT(first.records.size(), 10U);
  for (int run = 1; run < 10; ++run) {
    const Document again = reported(s.kernels, s.filters, 0, 1 + run % 2);
    const Comparison c = compare(first, again, false);
    EXPECT_EQ(c.records.size(), first.records.size());
    EXPECT_EQ(c.changed(), 0U);
    EXPECT_EQ(c.other_cases, 0U);
  }
}

TEST(planted, ten_reports_of_one_build_and_other_seeds_show_no_change) {
  const Softmaxes s;
  const Document first = reported(s.kernels, s.filters, 0);
  std::size_t moved = 0;
  for (std::uint64_t run = 1; run < 10; ++run) {
    const Document other = reported(s.kernels, s.filters, 100 * run);
    const Comparison c = compare(first, other, false);
    EXPECT_EQ(c.other_cases, c.records.size());
    EXPECT_TRUE(c.by_class().empty() && c.by_error().empty());
    for (const RecordChange& r : c.records) EXPECT_GE(r.more_failures_p, kLevel) << r.key().text();
    moved += c.changed();
  }
  EXPECT_GT(moved, 0U);  // the figures did move: it is the claim that is not made
}

TEST(planted, one_ulp_in_exp2_changes_the_report_and_half_an_ulp_does_not) {
  const SeededFault* fault = find_fault("attention.broken.short_polynomial");
  if (fault == nullptr) GTEST_SKIP() << "a build without seeded faults";
  const Filters filters{{"attention.mma_f16.hardened"}, {"normal", "one_signed_v", "equal"}, {"f16"}};
  const Kernel* hardened = find_kernel("attention.mma_f16.hardened");
  const Document base = reported({hardened}, filters, 0);
  // The seeded fault under the hardened kernel's name, as a commit would do it.
  SeededFault weak = *fault;
  Kernel planted = *find_kernel(fault->id);
  planted.id = hardened->id;
  planted.form = hardened->form;
  planted.fault = &weak;
  const auto changed = [&](double ulp) {
    weak.dose.registered = ulp;
    const Document head = reported({&planted}, filters, 0);
    const Comparison c = compare(base, head, false);
    EXPECT_EQ(c.other_cases, 0U);
    for (const RecordChange* r : c.by_error()) {
      EXPECT_THAT(r->head->replay, testing::StartsWith("./flashproof replay attention:"));
    }
    return c.changed();
  };
  EXPECT_EQ(changed(0.5), 0U);
  EXPECT_GT(changed(1), 0U);
}

}  // namespace
}  // namespace flashproof::compare
