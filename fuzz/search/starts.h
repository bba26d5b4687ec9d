// The recipes that searches start from.
#pragma once

#include <optional>
#include <vector>

#include "fuzz/input/codec.h"
#include "reference/problem/random.h"

namespace flashproof {

/// A random recipe with different seeds: half of them with every key given, so that the cases are of one shape and can be
/// joined (concatenate.h), half with some keys left to the seed. No law, no schedule.
std::vector<FuzzInput> random_inputs(ProblemKind problem, Random& random, std::size_t siblings);

/// A random family and seed at the ledger's shape (reports/attack/README.md).
CaseSpec drawn_at_ledger_shape(ProblemKind problem, Format format, Random& random);
/// The case, if every entry is finite and no row is shorter. Empty also where the family has none at this seed.
std::optional<Case> full_case(const CaseSpec& spec);

}  // namespace flashproof
