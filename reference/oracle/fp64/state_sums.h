// Un-normalised states (m_s, l_s, O_s) of a merge: their sum of weights L = Σ l_s e^(m_s − m), and the blocks' shares
// e^(m_s − m) / L. Plain loops: a state costs this once, and its dv columns cost more. Derivation: README.md, "Merge".
#pragma once

#include <cstdint>
#include <span>

#include "reference/oracle/fp64/row_sums.h"
#include "reference/oracle/fp64/terms.h"

namespace flashproof::rows64 {

/// One row. Of all states: the f32 l, above 0 where visible, the weights e^(m_s − m) and their radii; `visible` lists those
/// that count.
struct StateWeights {
  std::span<const double> l;
  std::span<double> w, rho;
  std::span<const std::int64_t> visible;
};

/// L and R_L of un-normalised states into row.total and row.total_radius.
void count_states(const StateWeights& states, const MergeTerms& terms, RowSums& row);
/// Weights and radii of the visible states to shares p_s = w_s / L and theirs, in place.
void share_states(const StateWeights& states, const RowSums& row, const MergeTerms& terms);

}  // namespace flashproof::rows64
