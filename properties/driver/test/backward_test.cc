// The driver on kernels of the gradient: an honest one passes, a seeded fault does not, and a run that decided too little is no pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "properties/driver/property_files.h"
#include "properties/driver/property_run.h"
#include "properties/laws/law.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<PropertyResult> run_on(const Kernel& kernel, const PropertyOptions& options) {
  const KernelDeclaration& declaration = kernel;
  return run_properties(std::span(&declaration, 1), options);
}

const Kernel& honest() { return *find_kernel("attention_backward.two_kernels.hardened"); }
const Kernel& wrong() { return *find_kernel("attention_backward.broken.lse_taken_for_dense"); }

PropertyOptions few(std::vector<std::string> laws, std::vector<std::string> families = {"normal"}) {
  PropertyOptions options;
  options.laws = std::move(laws);
  options.families = std::move(families);
  options.cases = 4;
  return options;
}

TEST(GradientDriver, an_honest_kernel_passes_every_law) {
  const auto results = run_on(honest(), few({}, {"normal", "mask_random", "gqa"}));
  ASSERT_EQ(results.size(), laws_of(ProblemKind::backward).size());
  for (const PropertyResult& result : results) {
    EXPECT_FALSE(result.finding()) << result.law << ": " << finding_line(result);
    EXPECT_FALSE(result.unproven()) << result.law << ": " << result.undecided;
    EXPECT_GT(result.taken, 0U) << result.law;
  }
  for (const Part part : kGradientParts) EXPECT_GT(results.front().power.of(part).share(), 0.9) << name(part);
}

TEST(GradientDriver, a_seeded_fault_is_a_finding_that_replays_from_its_line_and_from_its_witness) {
  std::string name = (fs::temp_directory_path() / "flashproof-gradients-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  PropertyOptions options = few({"layout_invariance"});
  options.out = folder;
  const auto results = run_on(wrong(), options);
  ASSERT_EQ(results.size(), 1U);
  ASSERT_TRUE(results[0].finding());
  EXPECT_THAT(finding_line(results[0]), HasSubstr("fail(leak) attention_backward:normal:"));
  const std::string witness = results[0].failure->witness;
  for (const std::string& again : {witness, to_string(results[0].failure->spec)}) {
    options.replay = {again};
    const auto replayed = run_on(wrong(), options);
    ASSERT_EQ(replayed.size(), 1U);
    EXPECT_TRUE(replayed[0].finding()) << again;
    EXPECT_THAT(replay_line("me", replayed[0]), HasSubstr("--replay " + again));
    EXPECT_FALSE(run_on(honest(), options)[0].finding()) << again;
  }
  EXPECT_TRUE(fs::exists(witness)) << "a replay keeps its file";
  fs::remove_all(folder);
}

/// What nearly every output would pass: the run says so.
TEST(GradientDriver, a_declaration_that_decides_nothing_is_no_pass) {
  Kernel lazy = honest();
  lazy.backward.exp_error = 0.49;
  lazy.backward.p = lazy.backward.ds = lazy.backward.dp = Format::bf16;
  const auto results = run_on(lazy, few({"within_bound"}, {"normal", "gqa", "mask_random"}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(results[0].finding()) << finding_line(results[0]);
  EXPECT_TRUE(results[0].unproven());
  EXPECT_THAT(results[0].undecided, HasSubstr("was decided"));
}

/// A law that compares outputs with each other holds of what is wrong everywhere.
TEST(GradientDriver, a_law_alone_is_no_pass_of_wrong_gradients) {
  const Kernel& far_off = *find_kernel("attention_backward.broken.delta_not_subtracted");
  PropertyOptions options = few({"rerun_is_bitwise"});
  const auto unasked = run_on(far_off, options);
  ASSERT_EQ(unasked.size(), 1U);
  EXPECT_FALSE(unasked[0].finding());
  EXPECT_THAT(unasked[0].undecided, HasSubstr("within_bound was not asked, and says fail"));
  EXPECT_THAT(unasked[0].undecided, HasSubstr(" of attention_backward:normal:"));
  EXPECT_THAT(run_on(honest(), options)[0].undecided, IsEmpty());
  options.judged_elsewhere = true;
  EXPECT_THAT(run_on(far_off, options)[0].undecided, IsEmpty());
}

TEST(GradientDriver, a_promise_that_no_case_decides_is_no_pass) {
  Kernel promising = honest();
  promising.unsupported = Refusal(
      [](const Problem& problem) {
        const auto& p = std::get<BackwardProblem>(problem);
        return p.query_rows() == 0 || p.key_rows() == 0 ? std::string() : std::string("only what has no row");
      },
      {Feature::window, Feature::alibi});
  PropertyOptions options = few({"batch_invariance_is_bitwise"}, {"zero_length"});
  options.cases = 20;
  options.judged_elsewhere = true;
  const auto results = run_on(promising, options);
  ASSERT_GT(results[0].executed(), 0U);
  EXPECT_FALSE(results[0].finding());
  EXPECT_EQ(results[0].undecided, "it decided no case");
  promising.contract.batch_invariant = false;  // no promise
  EXPECT_TRUE(run_on(promising, options)[0].skipped());
}

TEST(GradientDriver, what_takes_no_case_is_a_finding_and_what_has_none_is_said) {
  Kernel refusing = honest();
  refusing.unsupported = Refusal([](const Problem&) { return std::string("not today"); }, {});
  EXPECT_TRUE(run_on(refusing, few({"within_bound"}))[0].finding());
  EXPECT_THROW(run_on(honest(), few({}, {"softcap"})), UsageError);
  EXPECT_TRUE(run_on(honest(), few({"merge_commutes"})).empty());
}

}  // namespace
}  // namespace flashproof
