#include "fuzz/score/feedback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/system/error.h"

namespace flashproof {
namespace {

TEST(Feedback, a_step_is_an_eighth_of_an_octave_and_the_ends_are_open) {
  EXPECT_EQ(step_of(0), 0U);
  EXPECT_EQ(step_of(std::numeric_limits<double>::quiet_NaN()), 0U);
  EXPECT_EQ(step_of(1e-30), 0U);
  EXPECT_EQ(step_of(1e30), kSteps - 1);
  EXPECT_EQ(step_of(std::numeric_limits<double>::infinity()), kSteps - 1);
  EXPECT_EQ(step_of(2) - step_of(1), static_cast<std::size_t>(kStepsPerOctave));
  EXPECT_EQ(step_of(0.5) - step_of(0.25), static_cast<std::size_t>(kStepsPerOctave));
  EXPECT_LT(step_of(0.9), step_of(1.0));
  for (double r = 0x1p-9, last = 0; r < 4; r *= 1.01) {
    EXPECT_GE(step_of(r), last);
    last = static_cast<double>(step_of(r));
  }
}

std::size_t marked() {
  return static_cast<std::size_t>(std::count(feedback_counters(), feedback_counters() + kSlots, 1));
}

TEST(Feedback, every_term_has_counters_of_its_own) {
  Score score;
  score.terms = {{"o.weights", 0.3}, {"lse.output", 0.3}, {"dv", 0.3}};
  const std::size_t before = marked();
  give_feedback(score, Guide::none);
  EXPECT_EQ(marked(), before);
  give_feedback(score, Guide::counters);
  EXPECT_EQ(marked(), before + 3);
  give_feedback(score, Guide::counters);
  EXPECT_EQ(marked(), before + 3);
  score.terms.front().ratio = 0.6;
  give_feedback(score, Guide::counters);
  EXPECT_EQ(marked(), before + 4);
  give_feedback(score, Guide::edges);  // code that runs, no counter
  EXPECT_EQ(marked(), before + 4);
}

TEST(Feedback, guides_have_names) {
  EXPECT_EQ(parse_guide("edges"), Guide::edges);
  EXPECT_THROW(parse_guide("coverage"), UsageError);
  EXPECT_THROW(term_slot("o.nonsense"), std::logic_error);
}

}  // namespace
}  // namespace flashproof
