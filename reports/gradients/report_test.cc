// Results, records and what a report says of gradients; findings come back from their files.
#include "reports/gradients/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "properties/generators/family.h"
#include "properties/generators/gradient_case.h"
#include "reference/problem/error.h"
#include "reports/gradients/markdown.h"
#include "reports/run/native.h"
#include "reports/run/twin_compare.h"

namespace flashproof {
namespace {

/// A faulty and a hardened kernel on two families.
struct Swept {
  Plan plan;
  PlanReport report;
  // Each test is a process of its own, and they run side by side.
  std::string out = testing::TempDir() + "flashproof-gradients-XXXXXX";

  Swept() {
    plan = make_gradient_plan(
        {{"attention_backward.two_kernels*", "attention_backward.broken.delta*"}, {"normal", "equal"}, {"f32", "bf16"}},
        2, 0, {Executor::cpu});
    SweepOptions options;
    options.keep_results = true;
    report.plan = &plan;
    report.result = sweep(plan, options);
    if (::mkdtemp(out.data()) == nullptr) throw std::runtime_error(out + ": cannot be made");
    report.findings = write_findings(plan, report.result.records, out);
  }
  ~Swept() { std::filesystem::remove_all(out); }
  Swept(const Swept&) = delete;
  Swept& operator=(const Swept&) = delete;
};

const Swept& swept() {
  static const Swept value;
  return value;
}

TEST(GradientReport, a_sweep_runs_every_step_once) {
  const SweepResult& result = swept().report.result;
  EXPECT_FALSE(result.partial) << result.failure;
  EXPECT_EQ(result.results.size(), 16U);
  EXPECT_EQ(result.records.size(), 8U);
  EXPECT_EQ(result.executed(), 16U);
  for (const StepResult& r : result.results) {
    const bool broken = r.step.kernel->form == Form::broken;
    EXPECT_EQ(r.result.failed(), broken) << r.step.kernel->id;
    const CaseResult again = CaseResult::deserialize(r.result.serialize());
    EXPECT_EQ(again.serialize(), r.result.serialize());
    EXPECT_EQ(again.dk.max_ratio, r.result.dk.max_ratio);
  }
  EXPECT_THROW(CaseResult::deserialize("1\t2"), UsageError);
}

TEST(GradientReport, findings_are_witnesses_that_fail_again) {
  const Swept& s = swept();
  ASSERT_EQ(s.report.findings.size(), 4U);
  EXPECT_FALSE(has_finding(s.report.result.records, true)) << "a seeded fault fails by design";
  const Finding& finding = s.report.findings.front();
  EXPECT_NE(replay_command(finding).find(finding.witness), std::string::npos);
  std::map<std::string, std::string> notes;
  const PlannedCase planned = load_gradient(finding.witness, &notes);
  EXPECT_EQ(notes["kernel"], finding.record->kernel->id);
  EXPECT_EQ(to_string(planned.spec), finding.case_line);
  EXPECT_EQ(*planned.data, make_case(planned.spec));
  Plan plan;
  plan.kernels = {finding.record->kernel};
  plan.executors = {Executor::cpu};
  plan.cases = {planned};
  SweepOptions options;
  options.keep_results = true;
  const SweepResult again = sweep(plan, options);
  ASSERT_EQ(again.results.size(), 1U);
  EXPECT_TRUE(again.results[0].result.failed());
}

TEST(GradientReport, all_three_forms_name_kernels_and_rejected_faults) {
  const PlanReport& report = swept().report;
  const std::string table = gradient_table(report, false);
  EXPECT_NE(table.find("attention_backward.two_kernels.hardened"), std::string::npos);
  EXPECT_NE(table.find("delta_not_subtracted bf16 cpu: rejected by within_bound in 4 of 4"), std::string::npos)
      << table;
  const auto sections = gradient_sections(report);
  ASSERT_EQ(sections.size(), 3U);
  EXPECT_EQ(sections[0].rows.size(), 2U);
  EXPECT_TRUE(sections[1].rows.empty());
  EXPECT_EQ(sections[2].rows.size(), 2U);
  Report whole;
  whole.gradients.result.records = report.result.records;
  const auto json = nlohmann::json::parse(json_text(whole))["records"];
  ASSERT_EQ(json.size(), 8U);
  EXPECT_EQ(json[0]["problem"], "attention_backward");
  EXPECT_TRUE(json[0]["figures"].contains("dv"));
  EXPECT_EQ(json[0]["laws"]["within_bound"]["fail"], 2);
  EXPECT_EQ(gradient_table({}, false), "");
}

TEST(GradientReport, globs_choose_among_kernels_of_both_kinds) {
  EXPECT_TRUE(select_kernels({"attention_backward.*"}).empty());
  EXPECT_TRUE(select_backward_kernels({"softmax.*"}).empty());
  // Seeded faults are chosen only by a pattern that says so, or that fits nothing else.
  for (const Kernel* kernel : select_backward_kernels({})) EXPECT_EQ(kernel->fault, nullptr) << kernel->id;
  for (const Kernel* kernel : select_backward_kernels({"attention_backward.*"})) {
    EXPECT_EQ(kernel->fault, nullptr) << kernel->id;
  }
  EXPECT_EQ(select_backward_kernels({}).size(), 3U);
  const auto faults =
      std::ranges::count_if(kernels_of(ProblemKind::backward), [](const auto& k) { return k.fault != nullptr; });
  EXPECT_GT(faults, 2);
  EXPECT_EQ(std::ssize(select_backward_kernels({"attention_backward.broken.*"})), faults);
  EXPECT_EQ(select_backward_kernels({"*delta_not*"}).size(), 1U);
  EXPECT_THROW(select_backward_kernels({"nonsense*"}), UsageError);
}

TEST(GradientReport, native_forms_declare_the_approximations) {
  const Profile profile = load_profile(shipped_profiles() / "nvidia-h200-2026-11-20.json");
  const auto subject =
      std::get<BackwardProblem>(make_case(parse_case_spec("attention_backward:normal:3:format=f16")).problem);
  for (const Kernel& det : kernels_of(ProblemKind::backward)) {
    const Kernel native = native_kernel(det, profile);
    EXPECT_EQ(native.math, Math::native);
    EXPECT_EQ(native.backward.underflow, Underflow::flush);
    EXPECT_GT(native.backward.exp_error, det.backward.exp_error);
    const bool accurate = det.backward.exponent == Exponent::accurate;
    EXPECT_EQ(native.backward.exponent, accurate ? Exponent::scaled_exp2 : det.backward.exponent);
    if (!det.unsupported(subject).empty()) continue;
    const ForwardErrors errors = forward_errors(subject);
    const auto total = [&](const Kernel& kernel) {
      return backward_bound(subject, kernel.backward_for(Format::f16), errors).dq.at(0).total();
    };
    EXPECT_GE(total(native), total(det)) << det.id;
  }
}

TEST(GradientReport, twins_are_compared_bit_for_bit) {
  Output a{.dq = poisoned(Format::f32, {1, 1, 1, 2}),
           .dk = poisoned(Format::f32, {1, 1, 1, 2}),
           .dv = poisoned(Format::f32, {1, 1, 1, 1})};
  Output b = a;
  TwinRow same;
  same.compare(a, b);
  EXPECT_FALSE(same.differing());
  EXPECT_EQ(same.elements, 5U);
  b.dk.set_bits(1, 1);
  a.dk.set_bits(1, 2);
  TwinRow other;
  other.compare(a, b);
  EXPECT_TRUE(other.differing());
  EXPECT_EQ(other.first_text.substr(0, 6), "dk[1]:");
}

}  // namespace
}  // namespace flashproof
