// An input family: one hazard, one file. A family is a pure function from a CaseSpec (seed, keys) to a Case.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/generators/difficulty.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Family {
  std::string_view name;
  std::string_view summary;  // one line: what is hazardous about it
  std::span<const ProblemKind> problems;
  Case (*make)(const CaseSpec& spec);
  std::span<const Promise> promises = {};  // what its cases keep: difficulty_test fails where a family has gone soft

  bool serves(ProblemKind problem) const;
};

/// Every family, in the order of the report.
std::span<const Family> families();
const Family* find_family(std::string_view name);

/// Looks the family up, checks every key of the spec (name, type, range) and makes the case; the result is valid().
/// Throws UsageError naming the key, its legal range, and for a wrong name the near matches.
Case make_case(const CaseSpec& spec);

}  // namespace flashproof
