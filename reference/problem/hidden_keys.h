// Keys that a row does not see and that hold no numbers: what only a kernel that declares mask isolation has to bear
// (semantics in README.md).
#pragma once

#include <string>

#include "reference/problem/problems.h"

namespace flashproof {

/// Whether a key that some row does not see, by causal, window or a bias of −inf, holds NaN or an infinity in k or v. What lies
/// beyond a sequence's length belongs to no key and does not count: that no kernel may let through.
bool hidden_keys_hold_specials(const AttentionProblem& p);

/// Why a kernel that does not declare mask isolation is not asked this problem; empty where there is no reason.
std::string needs_isolation(const Problem& problem);

}  // namespace flashproof
