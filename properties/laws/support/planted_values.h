// Values of which the answer is known, planted into a problem that keeps its logits, masks and plan.
#pragma once

#include "properties/laws/support/weights.h"
#include "properties/laws/trial.h"

namespace flashproof {

/// Every value 1: v, or the o of every state; a softmax has no values. States (m, l, O) get O = l, l rounded into the format of O
/// (1 where that is 0 or infinite), so that what they stand for is 1 exactly.
void plant_ones(Problem& problem);
/// Attention and the sum of states: a value is the unit vector e_c, c the place of its key in storage mod dv (pages may be
/// shared, so a key's position would not do), or its state mod dv. Of a concatenation: ones.
void plant_one_hot(Problem& problem);
/// That c, of a problem planted so.
std::int64_t hot_column(const AttentionProblem& problem, std::int64_t s, std::int64_t kv, std::int64_t j);

/// The sum of a row's weights beside its sink's: 1 − e^{sink − lse}, 1 without a sink, 0 where nothing is seen. A radius of
/// +inf where lse is no number.
Measured weight_of_keys(const RowWeights& weights, const Reading& reading);

/// Runs the kernel on the case with planted values (of a softmax, which has none, the case itself), and calls `check` for every
/// ordinary row.
Verdict relate_planted(Trial& trial, void (*plant)(Problem&), Scores scores,
                       void (*check)(const Problem& changed, const RowWeights& row, const Reading& reading,
                                     Comparison& tally));

/// What multiplies the finished sum of this row.
double value_factor(const Problem& problem, const RowWeights& weights);

}  // namespace flashproof
