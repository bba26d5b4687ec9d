// A small problem in one line, for the message of a failure.
#pragma once

#include <string>

#include "reference/problem/problems.h"

namespace flashproof {

/// "softmax: x (1, 2) = 3e+38, -inf", "merge concat: o (2, 1, 1) = 1, 1; lse (2, 1) = 0, 89", "attention causal scale 0.5: ...",
/// "attention_backward f32 stage: q (1, 1, 1, 1) = 1; ...; dO (1, 1, 1, 1) = 2".
/// The numbers of a tensor stand there if they are few; what is as usual is left out.
std::string brief(const Problem& problem);

}  // namespace flashproof
