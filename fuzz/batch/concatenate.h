// Many small problems as one: their rows side by side, so that a GPU answers them in one launch. No row sees another's inputs
// (of attention: no sequence), and a kernel that lets them meet breaks the law batch_invariance, or its bound.
//
//   softmax    rows end to end        joined where format, columns and chunks agree
//   merge      rows end to end        ... and states, order, joins and form
//   attention  sequences end to end   ... and everything but the data of q, k, v, bias, slopes, factors and lengths
//
// Only dense tensors are joined: another layout is part of what its problem tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reference/problem/problems.h"

namespace flashproof {

/// Problems may be joined if their keys are equal and not empty. Empty: strided, packed, paged, or with a sink.
std::string join_key(const Problem& problem);

/// Of at least one problem, all with the same join_key(). Throws UsageError where the whole is too large for validate().
Problem concatenate(std::span<const Problem* const> problems);

/// Of the output of concatenate(): that of the part whose rows begin at `first_row`, the sum of output_shape(...).rows of the parts
/// before it.
Output part_of(const Output& whole, std::int64_t first_row, const Problem& part);

}  // namespace flashproof
