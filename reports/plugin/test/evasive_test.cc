// Kernels that are right where a lenient judge looks: for generously aligned pointers, in the features that happen to be drawn, in what
// they do not refuse. None passes, and what is said names the reason; the honest ones beside them pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "reports/plugin/check.h"
#include "reports/plugin/refusals.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

PluginReport check(std::string_view kernel, std::vector<std::string> laws = {"within_bound"},
                   std::vector<std::string> families = {}) {
  static const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "evasive.so");
  PluginCheck options;
  options.kernels = {"softmax." + std::string(kernel) + ".evasive"};
  options.laws = std::move(laws);
  options.families = std::move(families);
  options.cases = 1;
  return check_plugin(plugin, options);
}

/// All that is said of it, finding by finding.
std::string said(const PluginReport& report) {
  std::string text;
  for (const PluginResult& result : report.results) {
    if (result.failure) text += std::string(result.law) + ": " + result.failure->verdict.detail + "\n";
  }
  for (const PluginOutcome& outcome : report.outcomes) {
    for (const std::string& why : outcome.undecided) text += "undecided: " + why + "\n";
  }
  return text;
}

struct Evasion {
  const char *kernel, *said;

  friend std::ostream& operator<<(std::ostream& out, const Evasion& e) { return out << e.kernel; }
};

class Found : public testing::TestWithParam<Evasion> {};

TEST_P(Found, with_the_reason) {
  const PluginReport report = check(GetParam().kernel);
  EXPECT_TRUE(report.found());
  EXPECT_FALSE(report.partial) << report.failure;
  EXPECT_THAT(said(report), HasSubstr(GetParam().said));
}

constexpr const char* kAlignment = "; not where every tensor is aligned to 256 bytes: \"alignment\" in the description";

INSTANTIATE_TEST_SUITE_P(
    All, Found,
    testing::Values(
        Evasion{"rounds_input", kAlignment}, Evasion{"rounds_output", kAlignment},
        Evasion{"crashes_unaligned", kAlignment}, Evasion{"wrong_aligned", "within_bound: outside the bound: lse["},
        Evasion{"ignores_length", "within_bound: "}, Evasion{"ignores_strides", "within_bound: "},
        Evasion{"refuses_hard", "the kernel refuses what it takes with other numbers of the same shape: "},
        Evasion{"refuses_but_middling", "the kernel refuses what it takes with other numbers of the same shape: "},
        Evasion{"refuses_stubbornly", "the kernel refuses what it takes in a new process"},
        Evasion{"refuses_at_random", "the kernel refuses what it takes when it is asked again: not this one"},
        Evasion{"refuses_later", "the kernel refuses what it takes in a new process: not this one"},
        Evasion{"refuses_unaligned", "aligned to 256 bytes, for which \"alignment\" in its description can"}),
    [](const auto& info) { return std::string(info.param.kernel); });

struct Kept {
  const char *kernel, *law, *family, *said;
};

// Each is right in all that a judge of single results asks of this family.
TEST(Found, what_only_one_kind_of_call_shows) {
  for (const Kept& one :
       {Kept{"keeps_lengths", "rerun_is_bitwise", "pairs", "in a process that ran other lengths"},
        Kept{"adds_to_output", "rerun_is_bitwise", "normal", "a second run against the first"},
        Kept{"adds_undeclared", "rerun_is_bitwise", "normal", "a second run against the first"},
        Kept{"other_bits_of_many_rows", "rerun_is_bitwise", "normal", "a second run against the first"},
        Kept{"shared_row_once", "layout_invariance", "normal", "x along axis 0 with a stride of 0 against copies"},
        Kept{"one_nan", "visible_nan_is_not_laundered", "normal", "sees nan planted at x["}}) {
    EXPECT_FALSE(check(one.kernel, {"within_bound"}, {one.family}).found()) << one.kernel;
    const PluginReport report = check(one.kernel, {one.law}, {one.family});
    EXPECT_TRUE(report.found()) << one.kernel;
    EXPECT_THAT(said(report), HasSubstr(one.said)) << one.kernel;
  }
}

TEST(Found, a_kernel_that_refuses_the_second_launch_of_a_law) {
  const PluginReport report = check("refuses_again", {"shift_invariance", "key_permutation_within_bound"});
  EXPECT_TRUE(report.found());
  EXPECT_THAT(said(report), HasSubstr("the kernel refuses what it takes "));
}

class Undecided : public testing::TestWithParam<Evasion> {};

TEST_P(Undecided, with_the_reason) {
  const PluginReport report = check(GetParam().kernel);
  EXPECT_FALSE(report.found()) << said(report);
  EXPECT_TRUE(report.undecided());
  EXPECT_THAT(said(report), HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(All, Undecided,
                         testing::Values(Evasion{"refuses_most", " were refused when the kernel was called: "},
                                         Evasion{"refuses_length",
                                                 "the description takes what was not tested: row_length (0 of "}),
                         [](const auto& info) { return std::string(info.param.kernel); });

TEST(Undecided, a_kernel_that_declares_what_no_case_of_the_run_has) {
  for (const char* kernel : {"ignores_length", "right"}) {
    const PluginReport report = check(kernel, {"within_bound"}, {"equal"});
    EXPECT_TRUE(report.undecided()) << kernel;
    EXPECT_THAT(said(report), HasSubstr("the description takes what was not tested: row_length (no case)"));
  }
}

TEST(Honest, kernels_pass) {
  for (const char* kernel : {"right", "says_alignment", "refuses_large"}) {
    const PluginReport report = check(kernel, {});
    EXPECT_FALSE(report.found() || report.undecided() || report.partial) << kernel << ": " << said(report);
    EXPECT_EQ(report.outcomes.front().refused > 0, std::string_view(kernel) == "refuses_large");
  }
}

TEST(Honest, whatever_the_seed_the_same_is_drawn) {
  for (const char* kernel : {"rounds_input", "refuses_hard"}) EXPECT_EQ(said(check(kernel)), said(check(kernel)));
}

TEST(OtherNumbers, keep_everything_but_the_numbers) {
  SoftmaxProblem p;
  p.x = Tensor::strided(Format::f16, {2, 3}, {1, 4});
  p.row_length = {1, 3};
  p.plan = ChunkPlan::uniform(3, 3);
  for (const Numbers::Law law : {Numbers::uniform, Numbers::normal}) {
    const auto other = std::get<SoftmaxProblem>(with_numbers(p, {4, law}, 1));
    EXPECT_EQ(other.x.shape, p.x.shape);
    EXPECT_EQ(other.x.stride, p.x.stride);
    EXPECT_EQ(other.row_length, p.row_length);
    double most = 0;
    for (std::int64_t i = 0; i < 6; ++i) most = std::max(most, std::fabs(other.x.at({i / 3, i % 3})));
    EXPECT_GT(most, 1);
    EXPECT_LT(most, law == Numbers::uniform ? 4 : 24);
  }
  MergeProblem merge;
  merge.o = Tensor::dense(Format::f32, {4, 5, 6});
  merge.lse = merge.l = Tensor::dense(Format::f32, {4, 5});
  merge.order = {0, 1, 2, 3};
  EXPECT_NO_THROW(validate(with_numbers(merge, {1, Numbers::normal}, 1)));
}

}  // namespace
}  // namespace flashproof
