// What the judging laws of gradients say, of anybody's dq, dk and dv: no kernel of the registry is needed.
#pragma once

#include "reference/error/gradients.h"

namespace flashproof {

/// Wrong classes count too: a gradient has no law of its own for them. `judgement` is judge() of `judged`.
Verdict gradients_within_bound(const GradientJudgement& judgement);
/// Poison is the storage's bits before the run (poison_bits()).
Verdict gradients_fully_written(const JudgedGradients& judged);
/// `again` is what a second run on the same problem returned.
Verdict gradients_have_the_same_bits(const Gradients& first, const Gradients& again);

}  // namespace flashproof
