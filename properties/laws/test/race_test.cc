// Every hardened kernel on small problems: no race under the shadow, and the same bits under every schedule. Kernels
// come from the registry, so a new one is in here from its first build.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kernels/run/observe.h"
#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/system/test/test_name.h"

namespace flashproof {
namespace {

constexpr int kRandomSchedules = 20;

/// Small ones: several chunks, ragged lengths, masked tiles, orders. Formats in turn.
std::vector<Case> small_cases() {
  const std::map<ProblemKind, std::map<std::string, std::string>> shapes = {
      {ProblemKind::softmax, {{"rows", "3"}, {"cols", "70"}, {"chunk", "32"}}},
      {ProblemKind::merge, {{"rows", "3"}, {"n", "4"}, {"dv", "40"}}},
      {ProblemKind::attention,
       {{"b", "2"}, {"hq", "2"}, {"hk", "1"}, {"sq", "18"}, {"sk", "40"}, {"d", "16"}, {"dv", "16"}, {"chunk", "16"}}},
  };
  constexpr std::string_view kFamilies[] = {"normal", "mask_random", "mask_first_tile", "chunk_order",
                                            "special_values"};
  constexpr const char* kFormats[] = {"f32", "f16", "bf16"};
  std::vector<Case> cases;
  for (const auto& [problem, keys] : shapes) {
    std::size_t i = 0;
    for (const std::string_view name : kFamilies) {
      if (!find_family(name)->serves(problem)) continue;
      CaseSpec spec{problem, std::string(name), i, keys};
      spec.keys["format"] = kFormats[i++ % std::size(kFormats)];
      cases.push_back(make_case(spec));
    }
    // Drawn shapes as well, with whatever the family draws.
    for (const std::string_view name : {"normal", "merge_tree", "unnormalised", "packed", "paged", "feature_mix"}) {
      if (!find_family(name)->serves(problem)) continue;
      for (std::uint64_t seed = 0; seed < 2; ++seed) cases.push_back(make_case({problem, std::string(name), seed, {}}));
    }
  }
  return cases;
}

std::vector<const Kernel*> hardened() {
  std::vector<const Kernel*> list;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form == Form::hardened && kernel.problem != ProblemKind::backward) list.push_back(&kernel);
  }
  return list;
}

bool takes(const Kernel& kernel, const Problem& problem) {
  return kind_of(problem) == kernel.problem && kernel.supports(format_of(problem)) &&
         kernel.unsupported(problem).empty();
}

class RaceTest : public testing::TestWithParam<const Kernel*> {
 protected:
  static void SetUpTestSuite() { cases_ = small_cases(); }
  static std::vector<Case> cases_;
};
std::vector<Case> RaceTest::cases_;

TEST_P(RaceTest, is_clean_under_the_shadow) {
  int tested = 0;
  for (const Case& c : cases_) {
    if (!takes(*GetParam(), c.problem)) continue;
    const Observation seen = observe(*GetParam(), c.problem);
    ++tested;
    EXPECT_GT(seen.accesses, 0U) << to_string(c.spec);
    EXPECT_TRUE(seen.races.empty()) << to_string(c.spec) << ": " << seen.race_count << " races, " << seen.races[0].text;
    // The instrumented kernel is the same kernel.
    const Output plain = run(*GetParam(), c.problem);
    EXPECT_EQ(seen.output.o.storage, plain.o.storage) << to_string(c.spec);
    EXPECT_EQ(seen.output.lse.storage, plain.lse.storage) << to_string(c.spec);
  }
  EXPECT_GT(tested, 0) << "no case of this test suits the kernel: add one that does";
}

TEST_P(RaceTest, gives_the_same_bits_under_every_schedule) {
  if (!GetParam()->contract.deterministic) GTEST_SKIP() << "declares that it is not deterministic";
  std::vector<std::string> schedules = {"lifo"};
  for (const char* lazy : {"fifo+lazy", "random:0+lazy"}) schedules.emplace_back(lazy);
  for (int seed = 0; seed < kRandomSchedules; ++seed) schedules.push_back("random:" + std::to_string(seed));
  for (const Case& c : cases_) {
    if (!takes(*GetParam(), c.problem)) continue;
    const Output fifo = run(*GetParam(), c.problem);
    for (const std::string& schedule : schedules) {
      const Output other = run(*GetParam(), c.problem, {.schedule = simt::parse_schedule(schedule)});
      ASSERT_EQ(fifo.o.storage, other.o.storage) << to_string(c.spec) << " " << schedule;
      ASSERT_EQ(fifo.lse.storage, other.lse.storage) << to_string(c.spec) << " " << schedule;
    }
    const Output preempted =
        observe(*GetParam(), c.problem, {.schedule = simt::parse_schedule("random:1/64"), .races = false}).output;
    ASSERT_EQ(fifo.o.storage, preempted.o.storage) << to_string(c.spec) << " random:1/64";
    ASSERT_EQ(fifo.lse.storage, preempted.lse.storage) << to_string(c.spec) << " random:1/64";
  }
}

INSTANTIATE_TEST_SUITE_P(Hardened, RaceTest, testing::ValuesIn(hardened()),
                         [](const auto& info) { return test_name(info.param->id); });

}  // namespace
}  // namespace flashproof
