// A case that a search has changed: its recipe and the changes that helped, not its data.
#pragma once

#include <vector>

#include "fuzz/input/mutation.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Origin {
  CaseSpec spec;
  std::vector<Mutation> mutations;  // in order

  bool operator==(const Origin&) const = default;
  /// Throws UsageError if the family refuses the recipe.
  Problem make() const;
};

}  // namespace flashproof
