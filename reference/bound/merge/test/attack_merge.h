// Test helper: every combination of states that README.md covers, on an adversary's arithmetic, judged by the bound of a
// declaration – its own, or one that is too optimistic.
#pragma once

#include "reference/bound/test/attack_machine.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// A problem of one row and one column with up to `most` states; with l where the arithmetic is of max_sum, half of the
/// time. Joins where it is a tree, half of the time.
MergeProblem draw_merge(Random& random, const Arithmetic& arithmetic, MergeForm form, int most);

/// Runs `machine` on it and compares with `declared`'s bound. Rows outside the domain, and those where
/// the form itself breaks, are not judged.
void attack_merge(const MergeProblem& problem, Machine machine, const Arithmetic& declared, AttackWorst& worst);

}  // namespace flashproof::bound
