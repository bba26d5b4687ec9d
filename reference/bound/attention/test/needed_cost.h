// Test helper: a row of attention, and a cost that it needs.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "reference/bound/test/one_row.h"
#include "reference/model/attack/attack_judge.h"

namespace flashproof::bound {

using Row = std::function<double(std::int64_t key)>;

inline double constant(std::int64_t /*key*/) { return 1; }

/// Scores and values as f32 numbers; the chunks are visited in key order.
inline AttentionProblem row_of(std::int64_t keys, int chunk, const Row& score, const Row& value = constant) {
  std::vector<float> s, v;
  for (std::int64_t j = 0; j < keys; ++j) {
    s.push_back(static_cast<float>(score(j)));
    v.push_back(static_cast<float>(value(j)));
  }
  return one_row(s, v, chunk);
}

inline constexpr int kRuns = 14;

/// What is done as declared stays within its bound, and goes beyond that of the declaration `without` the cost.
inline void expect_needed(const std::string& what, const Problem& problem, const Arithmetic& done,
                          const Arithmetic& without) {
  SCOPED_TRACE(what);
  const attack::Violations honest = attack::attack(problem, done, done, 1, kRuns);
  EXPECT_EQ(honest.refused, 0) << honest.refusal;
  EXPECT_EQ(honest.violations, 0) << honest.first;
  EXPECT_GT(honest.elements, 0) << "nothing was judged";
  const attack::Violations optimistic = attack::attack(problem, done, without, 1, kRuns);
  EXPECT_EQ(optimistic.refused, 0) << optimistic.refusal;
  EXPECT_GT(optimistic.violations, 0) << "the case does not need it: " << optimistic.worst.text();
}

}  // namespace flashproof::bound
