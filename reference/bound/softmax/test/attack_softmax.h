// Test helper: every softmax reduction that README.md covers, on an adversary's arithmetic, judged by the bound of a
// declaration – its own, or one that is too optimistic.
#pragma once

#include "reference/bound/test/attack_machine.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// One row of up to 60 columns; `highest`: of |x|.
SoftmaxProblem draw_softmax(Random& random, double highest);

/// Runs `machine` on it, each of its outputs being aimed at in turn, and compares with `declared`'s bound. Rows outside
/// the domain, and those where the form itself breaks, are not judged.
void attack_softmax(const SoftmaxProblem& problem, const Machine& machine, const Arithmetic& declared,
                    AttackWorst& worst);

}  // namespace flashproof::bound
