// What the terms of one row say, as traits are made of it.
#pragma once

#include <cstdint>
#include <limits>

#include "reports/diagnose/terms.h"

namespace flashproof {

/// What the terms of one row say.
struct RowLook {
  std::int64_t visible = 0, hidden = 0, empty_groups = 0;
  Real most = kNothing, least = std::numeric_limits<Real>::infinity(), lse = kNothing, rise = 0, fall = 0, dip = 0;
  bool first_hidden = false, some_hidden = false, empty_part = false, first_part_empty = false, part_beyond = false;
  bool nan_score = false, hidden_nan_score = false, hidden_nan_value = false, nan_value = false, nan_chunk = false;
  std::int64_t last_visible = -1, first_missing = 0, longest_chunk = 0, last_chunk = 0;
  bool adjacent_empty = false, first_key_hidden = false;
};
RowLook look_at(const RowTerms& terms);

/// Largest |q·k| of the keys that a row sees, before any factor.
Real raw_score(const RowTerms& terms);
/// NaN or inf in storage between the length and the end of k (`keys`) or v, which no row of the sequence may notice.
bool special_behind(const AttentionProblem& problem, bool keys, const RowTerms& terms);
/// The first visited chunk in which a query of the row's block sees a key by its position: does the row see nothing of it?
bool first_of_block_hidden(const AttentionProblem& problem, const RowTerms& terms, std::int64_t block);
/// Are two states joined that are both empty? By the problem's tree, or a balanced one over the order of visits.
bool empty_join(const MergeProblem& problem, const RowTerms& terms);

}  // namespace flashproof
