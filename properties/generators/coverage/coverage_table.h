// Which levels and pairs of levels (dimensions.h) a set of cases has: a generator that has lost one shows as a gap and
// not as silence. A pair that no case has is a gap unless validate() refuses the smallest problem of those two levels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/generators/family.h"

namespace flashproof {

class CoverageTable {
 public:
  explicit CoverageTable(ProblemKind problem) : problem_(problem) {}

  /// A case in which no row sees anything counts for what makes it so alone.
  void add(const Problem& problem);
  /// What should be there and is not, a line each; with `forbidden` the pairs that validate() refuses, with its words.
  std::vector<std::string> gaps(std::vector<std::string>* forbidden = nullptr) const;
  /// A line per dimension: each level with the cases that have it and, in brackets, those of its rarest pair; how many of
  /// the values were drawn, of which each round of the covering array takes the next ones.
  std::string text() const;

 private:
  using Level = std::pair<std::size_t, int>;  // dimension and level

  std::uint64_t count(const Level& x, const Level& y) const;

  ProblemKind problem_;
  std::uint64_t cases_ = 0;
  std::map<Level, std::uint64_t> levels_;
  std::map<std::pair<std::size_t, std::int64_t>, std::uint64_t> values_;
  std::map<std::pair<Level, Level>, std::uint64_t> pairs_;
};

/// Of the default report, seeds 1 to 12; the shapes are the same in every format. `left_out`: without that family.
CoverageTable default_coverage(ProblemKind problem, std::string_view left_out = {});

}  // namespace flashproof
