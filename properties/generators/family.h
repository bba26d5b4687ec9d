// An input family: one hazard, one file. A family is a pure function from a CaseSpec (seed, keys) to a Case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/generators/difficulty.h"
#include "reference/problem/case.h"

namespace flashproof {

inline constexpr std::uint64_t kDefaultSeeds = 12;

struct Family {
  std::string_view name;
  std::string_view summary;  // one line: what is hazardous about it
  std::span<const ProblemKind> problems;
  Case (*make)(const CaseSpec& spec);
  std::span<const Promise> promises = {};  // what its cases keep: difficulty_test fails where a family has gone soft
  /// Of a covering array (pairs.h): how many seeds in a row are all of it. Null: one seed is as good as another.
  std::uint64_t (*round)(ProblemKind problem) = nullptr;
  /// A default report draws each case of a round in one of its formats, not in all.
  bool in_turn = false;

  bool serves(ProblemKind problem) const;
  /// How many cases stand for `seeds` cases of other families: a whole round for the kDefaultSeeds of a default report. A gradient
  /// has a covering array of its own (backward_variant.h), so that no round of a family is one of it: seeds, in every format.
  std::uint64_t cases(ProblemKind problem, std::uint64_t seeds) const;
  /// Whether case i of so many seeds is drawn in format number `format` of `formats`.
  bool draws(ProblemKind problem, std::uint64_t i, std::uint64_t seeds, std::uint64_t format,
             std::uint64_t formats) const {
    return !in_turn || problem == ProblemKind::backward || seeds > kDefaultSeeds || i % formats == format;
  }
};

/// Every family, in the order of the report.
std::span<const Family> families();
const Family* find_family(std::string_view name);

/// Looks the family up, checks every key of the spec (name, type, range) and makes the case; the result is valid().
/// Throws UsageError naming the key, its legal range, and for a wrong name the near matches.
Case make_case(const CaseSpec& spec);

}  // namespace flashproof
