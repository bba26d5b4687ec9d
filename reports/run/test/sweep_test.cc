#include "reports/run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

using testing::StartsWith;

std::string records_of(const Plan& plan, int jobs) {
  Report report;
  report.result = sweep(plan, {.jobs = jobs});
  EXPECT_FALSE(report.result.partial);
  return nlohmann::json::parse(json_text(report, Spelled::out))["records"].dump(1);
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

/// A faulty kernel and right ones of two problems on two families, in one sweep.
TEST(Sweep, has_every_problem_and_what_it_finds_fails_again) {
  const Plan plan =
      make_plan({{"softmax.safe.hardened", "attention_backward.two_kernels*", "attention_backward.broken.delta*"},
                 {"normal", "equal"},
                 {"f32", "bf16"}},
                2, 0, {Executor::cpu});
  SweepResult result = sweep(plan, {.keep_results = true});
  EXPECT_FALSE(result.partial) << result.failure;
  EXPECT_EQ(result.results.size(), 24U);
  EXPECT_EQ(result.records.size(), 12U);
  EXPECT_EQ(result.executed(), 24U);
  for (const StepResult& r : result.results) {
    EXPECT_EQ(r.result.failed(), r.step.kernel->form == Form::broken) << r.step.kernel->id;
    const CaseResult again = CaseResult::deserialize(r.result.serialize());
    EXPECT_EQ(again.serialize(), r.result.serialize());
    EXPECT_EQ(again.dk.max_ratio, r.result.dk.max_ratio);
  }
  EXPECT_FALSE(has_finding(result.records, true)) << "a seeded fault fails by design";
  std::string folder = testing::TempDir() + "flashproof-sweep-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::vector<Finding> findings = write_findings(plan, result.records, folder);
  ASSERT_EQ(findings.size(), 4U);
  std::map<std::string, std::string> notes;
  Plan again;
  again.cases = {load_case(findings[0].witness, &notes)};
  again.kernels = {findings[0].record->kernel};
  again.executors = {Executor::cpu};
  EXPECT_EQ(notes["kernel"], "attention_backward.broken.delta_not_subtracted");
  EXPECT_EQ(*again.cases[0].data, make_case(again.cases[0].spec));
  const SweepResult failing = sweep(again, {.keep_results = true});
  ASSERT_EQ(failing.results.size(), 1U);
  EXPECT_TRUE(failing.results[0].result.failed());
  std::filesystem::remove_all(folder);
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

// Seeded faults are chosen only by a pattern that says so, or that fits nothing else.
TEST(Plan, globs_choose_among_the_kernels_of_every_problem) {
  for (const Kernel* kernel : select_kernels({})) EXPECT_EQ(kernel->fault, nullptr) << kernel->id;
  EXPECT_EQ(select_kernels({"attention_backward.*"}).size(), 3U);
  const auto faults =
      std::ranges::count_if(kernels_of(ProblemKind::backward), [](const auto& k) { return k.fault != nullptr; });
  EXPECT_GT(faults, 2);
  EXPECT_EQ(std::ssize(select_kernels({"attention_backward.broken.*"})), faults);
  EXPECT_EQ(select_kernels({"*delta_not*"}).size(), 1U);
  EXPECT_THROW(select_kernels({"nonsense*"}), UsageError);
}

TEST(Plan, formats_draw_the_rows_of_a_covering_array_in_turn) {
  const auto drawn = [](const char* kernel) {
    return make_plan({{kernel}, {"pairs"}, {}}, kDefaultSeeds, 0, {Executor::cpu}).cases.size();
  };
  EXPECT_EQ(drawn("attention_backward.*"), find_family("pairs")->cases(ProblemKind::backward, kDefaultSeeds));
  EXPECT_EQ(drawn("attention.deferred.hardened"), find_family("pairs")->cases(ProblemKind::attention, kDefaultSeeds));
}

TEST(Plan, a_format_that_the_kernel_does_not_have_gives_no_case) {
  const std::vector<std::string> kernel = {"attention.mma_f16.hardened"};
  EXPECT_TRUE(make_plan({kernel, {}, {"f32"}}, SweepTier::quick, 0, {Executor::cpu}).cases.empty());
  EXPECT_FALSE(make_plan({kernel, {}, {"f16"}}, SweepTier::quick, 0, {Executor::cpu}).cases.empty());
  EXPECT_THROW(make_plan({{}, {}, {"f64"}}, SweepTier::quick, 0, {Executor::cpu}), UsageError);
}

}  // namespace
}  // namespace flashproof
