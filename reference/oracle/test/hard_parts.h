// What the files of hard kinds share.
#pragma once

#include <cmath>
#include <limits>

#include "reference/oracle/test/test_problems.h"

namespace flashproof::test {

template <class Change>
AttentionProblem changed(AttentionProblem p, Change change) {
  change(p);
  return p;
}

/// States in pairs: the second of each has the lse or m of the first, and the opposite o but for one unit in the last place.
inline MergeProblem cancelling(MergeProblem p) {
  for (std::int64_t s = 0; s < p.o.shape[0]; s += 2) {
    for (std::int64_t row = 0; row < p.o.shape[1]; ++row) {
      p.lse.set({s + 1, row}, p.lse.at({s, row}));
      for (std::int64_t c = 0; c < p.o.shape[2]; ++c) {
        const auto o = static_cast<float>(p.o.at({s, row, c}));
        p.o.set({s + 1, row, c}, -std::nextafter(o, std::numeric_limits<float>::infinity()));
      }
    }
  }
  return p;
}

}  // namespace flashproof::test
