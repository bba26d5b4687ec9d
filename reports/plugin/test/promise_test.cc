// A promise of which a run decided nothing leaves it undecided, whatever the reason is, and whatever the order in which answers come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "properties/laws/law.h"
#include "reports/plugin/kernel_run.h"

namespace flashproof {
namespace {

using testing::ElementsAre;

Kernel attention(bool isolates) {
  Kernel kernel;
  kernel.id = "attention.plain.mine";
  kernel.problem = ProblemKind::attention;
  static constexpr Format kFormats[] = {Format::f16};
  kernel.formats = kFormats;
  kernel.contract.isolates_hidden = isolates;
  return kernel;
}

PluginAnswer unsupported(std::string_view why) { return {{VerdictKind::unsupported, Failure::none, std::string(why)}}; }

/// What the run leaves undecided where the law says this of one case each.
std::vector<std::string> undecided(const Kernel& kernel, const char* law, const std::vector<PluginAnswer>& answers) {
  KernelRun run(kernel, {{find_law(law), true}});
  for (const PluginAnswer& answer : answers) {
    const CaseSpec spec{kernel.problem, "normal", 0, {}};
    run.add(spec, 0, {});
    run.add(spec, 1, answer);
  }
  std::optional<PluginFailure> contradiction;
  std::vector<std::string> said = run.outcome(false, contradiction).undecided;
  std::erase_if(said, [](const std::string& one) { return one.find(" was asked of no case: ") == std::string::npos; });
  return said;
}

TEST(Promise, of_which_every_case_had_nothing_is_named_with_the_reason_of_most_cases) {
  constexpr const char* kNothing = "no key is hidden from any row";
  const std::vector<PluginAnswer> said = {unsupported(kNothing), unsupported(kNotRelated), unsupported(kNotRelated)};
  const auto sentence = ElementsAre("hidden_nan_is_isolated was asked of no case: " + std::string(kNothing));
  EXPECT_THAT(undecided(attention(true), "hidden_nan_is_isolated", said), sentence);
  EXPECT_THAT(undecided(attention(true), "hidden_nan_is_isolated", {said[2], said[1], said[0]}), sentence);
  EXPECT_THAT(undecided(attention(true), "hidden_nan_is_isolated", {said[1]}),
              ElementsAre("hidden_nan_is_isolated was asked of no case: " + std::string(kNotRelated)));
}

TEST(Promise, that_was_decided_once_or_that_nobody_made_is_not) {
  EXPECT_THAT(undecided(attention(true), "hidden_nan_is_isolated", {unsupported("no key"), PluginAnswer{}}),
              testing::IsEmpty());
  EXPECT_THAT(undecided(attention(false), "hidden_nan_is_isolated", {unsupported("not declared")}), testing::IsEmpty());
  Kernel softmax = attention(true);
  softmax.problem = ProblemKind::softmax;  // it has no keys that a mask hides
  EXPECT_THAT(undecided(softmax, "hidden_nan_is_isolated", {unsupported("attention only")}), testing::IsEmpty());
}

}  // namespace
}  // namespace flashproof
