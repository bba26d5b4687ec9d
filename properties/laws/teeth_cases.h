// Test helper: runs kernels over the default cases of the families and asks the laws. Truths are computed once.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "kernels/run.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {

struct TeethCase {
  Case content;
  Truth truth;
};

inline constexpr std::uint64_t kTeethSeeds = 6;

/// Every family that serves `problem`, without keys, seeds 1 to kTeethSeeds.
inline const std::deque<TeethCase>& teeth_cases(ProblemKind problem) {
  static std::deque<TeethCase> all[3];
  std::deque<TeethCase>& cases = all[static_cast<std::size_t>(problem)];
  if (cases.empty()) {
    for (const Family& family : families()) {
      if (!family.serves(problem)) continue;
      for (std::uint64_t seed = 1; seed <= kTeethSeeds; ++seed) {
        Case content = make_case({problem, std::string(family.name), seed, {}});
        Truth truth = compute_truth(content.problem);
        cases.push_back({std::move(content), std::move(truth)});
      }
    }
  }
  return cases;
}

inline bool takes(const Kernel& kernel, const Problem& problem) {
  return kind_of(problem) == kernel.problem && kernel.supports(format_of(problem)) &&
         kernel.unsupported(problem).empty();
}

/// The verdict of each law, in the order of laws(), on this output.
inline std::vector<Verdict> ask_laws(const Kernel& kernel, const TeethCase& c, const Output& output) {
  const Bound bound = compute_bound(c.content.problem, kernel.arithmetic);
  const Judgement judgement = judge(output, c.truth, bound, kernel.contract, 0);
  std::vector<Verdict> verdicts;
  for (const Law& law : laws()) {
    verdicts.push_back(law.check({kernel, c.content, output, c.truth, bound, judgement}));
  }
  return verdicts;
}

}  // namespace flashproof
