// Sentences of the verdict block that a run makes.
#include "reports/plugin/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flashproof {
namespace {

using testing::EndsWith;

// A note has so many lines; what was cut there did not say how much of the list was missing.
TEST(Block, of_more_families_than_it_names_it_says_the_number) {
  PluginOutcome outcome{.kernel = nullptr};
  outcome.families = 30;
  for (const char* name : {"a (o: zero)", "b (o: zero)", "c (o: zero)"}) outcome.open.emplace_back(name);
  EXPECT_THAT(not_tested_text(outcome, 3), EndsWith(": a (o: zero), b (o: zero), c (o: zero)"));
  EXPECT_THAT(not_tested_text(outcome, 2), EndsWith(": a (o: zero), b (o: zero), 1 more"));
}

}  // namespace
}  // namespace flashproof
