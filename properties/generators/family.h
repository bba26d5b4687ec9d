// An input family: one hazard, one file. A family is a pure function from a CaseSpec (seed, keys) to a Case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/generators/difficulty/difficulty.h"
#include "reference/problem/case.h"

namespace flashproof {

struct GradientForm;

inline constexpr std::uint64_t kDefaultSeeds = 12;
/// Cases per family of a default check of one kernel.
inline constexpr std::uint64_t kDefaultCases = 4;

/// The first seed of `Family::costly`: none of a run that counts its seeds from one that a user gives.
inline constexpr std::uint64_t kCostlySeeds = std::uint64_t{1} << 48;

struct Family {
  std::string_view summary;  // one line: what is hazardous about it
  std::span<const ProblemKind> problems;
  Case (*make)(const CaseSpec& spec);
  std::span<const Promise> promises = {};  // what its cases keep: difficulty_test fails where a family has gone soft
  /// How many seeds from kCostlySeeds on are further rows, which cost more than all of a round: drawn by a check of a library or of
  /// a PTX file with a map, and by suggest of one.
  std::uint64_t (*costly)(ProblemKind problem) = nullptr;
  /// Of a covering array (pairs.h): how many seeds in a row are all of it. Null: one seed is as good as another.
  std::uint64_t (*round)(ProblemKind problem) = nullptr;
  /// Of a family whose cases of the gradient are rows of their own: `make` of a spec of that problem gives the forward problem, this
  /// the rest. Null: a case of the gradient is the attention case of the same seed.
  GradientForm (*gradient)(const CaseSpec& spec) = nullptr;
  /// A default report draws each case of a round in one of its formats, not in all.
  bool in_turn = false;
  std::string_view name = {};  // the function's, by the list in CMakeLists.txt

  bool serves(ProblemKind problem) const;
  /// How many cases stand for `seeds` cases of other families: a whole round for the kDefaultSeeds of a default report.
  std::uint64_t cases(ProblemKind problem, std::uint64_t seeds) const;
  /// The rows of a covering array of which a check of one kernel with so many cases per family draws each once: all from kDefaultCases
  /// on, since two thirds of them would leave most sizes and features out of a verdict. 0: fewer cases, or no covering array.
  std::uint64_t whole(ProblemKind problem, std::uint64_t cases) const {
    return round != nullptr && cases >= kDefaultCases ? round(problem) : 0;
  }
  /// Whether case i of so many seeds is drawn in format number `format` of `formats`.
  bool draws(std::uint64_t i, std::uint64_t seeds, std::uint64_t format, std::uint64_t formats) const {
    return !in_turn || seeds > kDefaultSeeds || i % formats == format;
  }
};

/// Every family, in the order of the report.
std::span<const Family> families();
const Family* find_family(std::string_view name);
/// Whether it is a case of Family::costly.
bool is_costly(const CaseSpec& spec);

/// Looks the family up, checks every key of the spec (name, type, range) and makes the case; the result is valid().
/// Throws UsageError naming the key, its legal range, and for a wrong name the near matches.
Case make_case(const CaseSpec& spec);

}  // namespace flashproof
