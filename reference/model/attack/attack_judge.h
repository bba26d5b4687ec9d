// Test support: a run of the model against truth and bound.
#pragma once

#include <string>

#include "reference/bound/bound.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof::attack {

/// Largest error/bound over the elements of one or many runs, in all and by the part that dominates the bound.
struct Worst {
  double ratio = 0;
  double by_part[4] = {};  // weights, numerator, denominator, output
  double lse = 0;

  void take(const Worst& other);
  std::string text() const;
};

struct Violations {
  Worst worst;
  std::int64_t elements = 0;      // judged: in the domain, a number, not vacuous
  std::int64_t broken_forms = 0;  // elements of rows where the declared form itself breaks
  std::int64_t refused = 0;       // declarations without a bound
  std::int64_t violations = 0;    // elements beyond their bound, and bounds that are no number
  std::string first;              // the first of them, in words
  std::string refusal;            // the first of these

  void take(const Violations& other);
};

/// Judges `output` (o unrounded, in f32) against its bound.
/// A violation is an element that no o within truth ± bound rounds to; of a 16-bit o, whose rounding into f32 the bound
/// has, an element outside truth ± bound. Out of its domain nothing is promised; where a
/// precondition of its form fails a kernel is to fail: neither is judged here.
Violations judge(const Problem& problem, const Output& output, const Truth& truth, const Bound& bound);

/// Runs `executed` under every one of some Roundings, and judges by `declared`.
Violations attack(const Problem& problem, const Arithmetic& executed, const Arithmetic& declared, std::uint64_t seed,
                  int runs);

}  // namespace flashproof::attack
