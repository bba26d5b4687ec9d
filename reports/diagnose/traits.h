// What a case and each of its rows look like, as numbers that conditions are learnt over. Made of the inputs alone: nothing is
// run for it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/registry.h"
#include "reference/problem/problems.h"
#include "reports/diagnose/conditions.h"

namespace flashproof {

/// Of rows of this kind of problem, those that say most first; behind them `column`, which is the caller's.
const std::vector<Trait>& traits(ProblemKind kind);

/// One row (of o; of a gradient: of the part), without the column. As many values as traits(), less one.
class TraitReader {
 public:
  /// Both must outlive it.
  TraitReader(const Kernel& kernel, const Problem& problem);
  std::vector<double> row(Part part, std::int64_t row) const;

 private:
  const Kernel& kernel_;
  const Problem& problem_;
  std::vector<double> largest_;  // score of every row, where rows are few enough to know all of them
};

}  // namespace flashproof
