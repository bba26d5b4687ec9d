// Test support: the cases of a family over formats and seeds, and their rows.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "properties/generators/family.h"
#include "properties/generators/keys.h"
#include "properties/generators/plan.h"
#include "properties/generators/score_rows.h"

namespace flashproof {

inline std::vector<ScoreRow> rows_of(const Case& made) { return rows_of(made.problem); }

constexpr int kSeeds = 20;
inline constexpr const char* kFormatNames[] = {"f32", "f16", "bf16"};

/// Calls check(made) for every problem of the family, every format, seeds 0..kSeeds-1.
template <class Check>
void for_each_case(const Family& family, Check check) {
  for (const ProblemKind problem : family.problems) {
    for (const char* format : kFormatNames) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        CaseSpec spec{problem, std::string(family.name), static_cast<std::uint64_t>(seed), {{"format", format}}};
        check(make_case(spec));
      }
    }
  }
}

}  // namespace flashproof
