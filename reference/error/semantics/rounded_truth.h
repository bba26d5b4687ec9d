// The truth as an output: what stands in for the part that a foreign kernel does not return (Returns), so that the laws which
// need both parts still say something about the other. It is never judged.
#pragma once

#include "reference/error/element.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Part::o as (rows, width) in the output's format, Part::lse as (rows) in f32: the middle of every ball, rounded to nearest even.
/// Where the truth lists classes and no number, NaN before an infinity. `problem` must be valid.
Tensor rounded_truth(const Problem& problem, Part part);

}  // namespace flashproof
