#include "reports/run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/simt/schedule.h"
#include "properties/generators/family.h"
#include "reference/problem/error.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

using testing::StartsWith;

std::string records_of(const Plan& plan, int jobs) {
  Report report;
  report.result = sweep(plan, {.jobs = jobs});
  EXPECT_FALSE(report.result.partial);
  return nlohmann::json::parse(json_text(report))["records"].dump(1);
}

TEST(Sweep, records_do_not_depend_on_the_number_of_workers) {
  const Plan plan =
      make_plan({{"*"}, {"normal", "mask_first_tile"}, {"f32", "bf16"}}, SweepTier::quick, 11, {Executor::cpu});
  ASSERT_GT(plan.cases.size(), 10U);
  const std::string one = records_of(plan, 1);
  EXPECT_EQ(one, records_of(plan, 2));
  EXPECT_EQ(one, records_of(plan, 5));
}

void launch_nothing(const SoftmaxArgs&, Stream) {}
void launch_crash(const SoftmaxArgs&, Stream) {
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}
void launch_fault(const SoftmaxArgs&, Stream) {
  throw simt::Fault(simt::FaultKind::deadlock, "fake.cu:3: nobody comes");
}
std::string takes_all(const Problem&) { return ""; }
std::string takes_none(const Problem&) { return "cols: only 0"; }

/// A softmax kernel that is not registered.
Kernel fake(std::string_view id, void (*launch)(const SoftmaxArgs&, Stream)) {
  Kernel kernel;
  kernel.id = id;
  kernel.problem = ProblemKind::softmax;
  kernel.form = Form::hardened;
  kernel.formats = kStorageFormats;
  kernel.arithmetic = find_kernel("softmax.online_two_pass.hardened")->arithmetic;
  kernel.unsupported = takes_all;
  kernel.launch = launch;
  return kernel;
}

struct FakePlan {
  Kernel crash = fake("a.crash", launch_crash), fault = fake("b.fault", launch_fault),
         nothing = fake("c.nothing", launch_nothing), refuses = fake("d.refuses", launch_nothing);
  Plan plan;
  FakePlan() {
    refuses.unsupported = takes_none;
    plan = make_plan({{"softmax.online_two_pass.hardened"}, {"normal"}, {"f32"}}, SweepTier::quick, 0, {Executor::cpu});
    plan.kernels = {&crash, &fault, &nothing, &refuses, plan.kernels.at(0)};
  }
};

TEST(Sweep, a_kernel_that_takes_its_process_down_is_a_finding_and_the_others_still_run) {
  const FakePlan f;
  for (const int jobs : {1, 3}) {
    const SweepResult result = sweep(f.plan, {.jobs = jobs, .keep_results = true});
    EXPECT_FALSE(result.partial);
    ASSERT_EQ(result.records.size(), 5U);
    const Record &crash = result.records[0], &fault = result.records[1], &nothing = result.records[2],
                 &refuses = result.records[3], &real = result.records[4];
    for (const Record* r : {&crash, &fault}) {
      EXPECT_EQ(r->cases, f.plan.cases.size());
      EXPECT_EQ(r->failures_by_case[static_cast<std::size_t>(Failure::error)], r->cases);
    }
    EXPECT_THAT(crash.worst->verdict.detail, StartsWith("the process was killed by signal 6 (Abort"));
    EXPECT_EQ(fault.worst->verdict.detail, "fake.cu:3: nobody comes");
    EXPECT_EQ(nothing.failures_by_case[static_cast<std::size_t>(Failure::unwritten)], nothing.cases);
    EXPECT_EQ(refuses.verdict(), VerdictKind::unsupported);
    EXPECT_EQ(real.verdict(), VerdictKind::pass) << real.worst->verdict.detail;
    EXPECT_EQ(result.executed(), 4 * f.plan.cases.size());
    EXPECT_EQ(result.results.size(), 5 * f.plan.cases.size());
  }
}

TEST(Sweep, the_witness_of_a_crash_can_be_written_and_names_its_kernel) {
  const FakePlan f;
  SweepResult result = sweep(f.plan, {.jobs = 1});
  std::string name = testing::TempDir() + "flashproof-sweep-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const auto findings = write_findings(f.plan, result.records, name);
  ASSERT_EQ(findings.size(), 3U);
  std::map<std::string, std::string> notes;
  const PlannedCase back = load_case(findings[0].witness, &notes);
  EXPECT_EQ(notes["kernel"], "a.crash");
  EXPECT_EQ(notes["verdict"], "fail(error)");
  EXPECT_EQ(to_string(back.spec), findings[0].case_line);
  std::filesystem::remove_all(name);
}

TEST(Plan, is_the_cross_product_of_what_the_kernels_take) {
  const Plan plan = make_plan({{"merge.*"}, {"normal"}, {"f16"}}, SweepTier::quick, 100, {Executor::cpu});
  ASSERT_EQ(plan.cases.size(), seeds_of(SweepTier::quick));
  EXPECT_EQ(to_string(plan.cases[1].spec), "merge:normal:101:format=f16");
  for (const Step& step : plan.steps(0)) EXPECT_EQ(step.kernel->problem, ProblemKind::merge);
  EXPECT_THROW(make_plan({{"merg.*"}, {}, {}}, SweepTier::quick, 0, {}), UsageError);
  EXPECT_THROW(make_plan({{}, {"nrmal"}, {}}, SweepTier::quick, 0, {}), UsageError);
  EXPECT_THROW(make_plan({{}, {}, {"f33"}}, SweepTier::quick, 0, {}), UsageError);
}

TEST(Plan, a_format_that_the_kernel_does_not_have_gives_no_case) {
  const std::vector<std::string> kernel = {"attention.mma_f16.hardened"};
  EXPECT_TRUE(make_plan({kernel, {}, {"f32"}}, SweepTier::quick, 0, {Executor::cpu}).cases.empty());
  EXPECT_FALSE(make_plan({kernel, {}, {"f16"}}, SweepTier::quick, 0, {Executor::cpu}).cases.empty());
  EXPECT_THROW(make_plan({{}, {}, {"f64"}}, SweepTier::quick, 0, {Executor::cpu}), UsageError);
}

}  // namespace
}  // namespace flashproof
