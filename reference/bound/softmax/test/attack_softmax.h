// Test helper: every softmax reduction that README.md covers, on an adversary's arithmetic, judged by the bound of a
// declaration – its own, or one that is too optimistic.
#pragma once

#include "reference/bound/test/attack_machine.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

struct SoftmaxWorst {
  WorstRatio o, lse;
  WorstRatio likely;              // of `probable`: o and lse
  std::int64_t elements = 0;      // in it
  std::int64_t broken_forms = 0;  // rows that are not judged because the form itself breaks there
  WorstRatio reached;             // o alone, in rows of at least 8 keys, not vacuous, the exact y above 2^-100
  double largest() const { return std::isnan(o.ratio) || o.ratio > lse.ratio ? o.ratio : lse.ratio; }
};

/// One row of up to 60 columns; `highest`: of |x|.
SoftmaxProblem draw_softmax(Random& random, double highest);

/// Runs `machine` on it, each of its outputs being aimed at in turn, and compares with `declared`'s bound. Rows outside
/// the domain, and those where the form itself breaks, are not judged.
void attack_softmax(const SoftmaxProblem& problem, const Machine& machine, const Arithmetic& declared,
                    SoftmaxWorst& worst);

}  // namespace flashproof::bound
