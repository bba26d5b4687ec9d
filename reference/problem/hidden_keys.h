// Keys that a row does not see and that hold no numbers: what only a kernel that declares mask isolation has to bear
// (semantics in README.md).
#pragma once

#include "reference/problem/problems.h"

namespace flashproof {

/// Whether a key that some row does not see, by causal, window or a bias of −inf, holds NaN or an infinity in k or v. What lies
/// beyond a sequence's length belongs to no key and does not count: that no kernel may let through.
bool hidden_keys_hold_specials(const AttentionProblem& p);

}  // namespace flashproof
