// What the judging laws of gradients say, of anybody's dq, dk and dv: no kernel of the registry is needed.
#pragma once

#include "reference/error/judge.h"

namespace flashproof {

/// Wrong classes count too: a gradient has no law of its own for them. `judgement` is judge() of them.
Verdict gradients_within_bound(const Judgement& judgement);
/// Poison is the storage's bits before the run (poison_bits()).
Verdict gradients_fully_written(const Output& output, const Truth& truth, const Bound& bound);
/// `again` is what a second run on the same problem returned.
Verdict gradients_have_the_same_bits(const Output& first, const Output& again);

}  // namespace flashproof
