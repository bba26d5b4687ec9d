// Where a row goes when its ball is too wide: by the part of its radius that made it so.
//
//   no double-double tier for the problem, or scores that even it could not tell   exact at 128, 256, ... kMaxBits
//   attention whose radius comes mostly from the scores                            dd_scores, dd, then exact
//   else                                                                           dd, then exact
//
// A pure function of the problem, the row's cause and the level, so that no row depends on which others were asked for.
#pragma once

#include <optional>

#include "reference/oracle/tiers.h"

namespace flashproof {

struct Step {
  Tier tier;
  int bits;  // of the exact tier, else 0
  bool operator==(const Step&) const = default;
};

/// What can be known about a problem's path before any row.
struct Path {
  bool fp64 = false;           // the first tier; else it is exact at kFirstBits
  bool double_double = false;  // there is such a tier for the problem
  bool attention = false;      // it can do the scores alone

  static Path of(const Problem& problem);
  /// level >= 1 follows the first tier. None past exact at kMaxBits.
  std::optional<Step> step(const RowCause& cause, int level) const;
};

inline constexpr int kFirstBits = 128;

}  // namespace flashproof
