// One combination of states, as a merge and as the end of an attention over several workers: what every state pays on
// its way to the root, and what the root's lse errs by. Derivation: README.md.
#pragma once

#include <span>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/score_units.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// A state that is not empty: it stands for the sum of weights sum·e^max.
struct MergeState {
  Nats max = {};    // λ_c; or m_c of (m, l, O)
  double sum = 1;   // l_c > 0; anything but 1 needs MergeWeights::max_sum
  Nats error = {};  // log units by which its computed weight is wrong when it enters (a partial result); 0: exact
};

/// What makes the weights sum up to 1.
enum class MergeTotal : std::uint8_t {
  divided,  // a division by the sum of the computed ones: the theorem as it stands
  joint,    // every node's two weights do, but for `common` and the roundings in `node`
  free,     // nothing: weights are e^{λ_c − λ^}; `common` multiplies o
};

struct MergePaths {
  Nats frame;          // the largest max of the states
  RowModel row;        // leaf c is state c, its score λ_c − frame
  RowWeights weights;  // perturbed_weights(row), but for lse, which is absolute
  MergeTotal total = MergeTotal::divided;
  std::vector<double> node;  // per state, log units of the weights' own roundings where nothing divides by their sum
  EndingModel ending;        // of o, without the rounding into the storage format; joint: of a single state alone
  double common = 0;         // log units, of o as a whole
  double largest = 0;        // log units: the largest rounding or exponential that several states share
  double constant = 0;       // 0..1: at most this share of the weights' errors is of the constant log2 e, one for all
  double above = 0;          // not divided: log units by which the weights of some node may sum to more than 1
  std::vector<double> descent;              // max_sum trees: per node but the root, e^{m − m of its join}; else empty
  ElementBound lse;                         // of the root, without its last rounding into f32
  double lse_last = 0;                      // that rounding
  std::vector<Precondition> preconditions;  // of the weights and lse
};

/// `states`: at least one, in visiting order. `joins`: n − 1 of them as merge_tree.h gives them, for these states; not
/// used where the reduction is flat. `form`: concat is for the rescaled blocks side by side. `storage`: the format of o.
MergePaths merge_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic, std::span<const Join> joins,
                       MergeForm form, Format storage);

// The three walks behind it, without what the storage format adds.
MergePaths lse_tree_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic,
                          std::span<const Join> joins, MergeForm form);  // stable, one_sided, running
MergePaths sum_tree_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic,
                          std::span<const Join> joins, MergeForm form);  // max_sum
MergePaths flat_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic, MergeForm form);

/// Sets frame and row to these states, with nothing charged yet. Scores beside the frame, because a double near 1e6 has
/// no room for what is compared here.
void set_leaves(MergePaths& paths, const std::vector<MergeState>& states);
/// Sets weights, from the row.
void set_weights(MergePaths& paths);
/// Of a quotient N/l or N e^{f − lse^}; bounds of |ln l^| and |lse^|.
EndingModel merge_ending(const Arithmetic& arithmetic, double log_size, double lse_size);
/// E(M − lse^) of the ending that does not divide, ln l >= `least`: it leaves the range where l is far below 1, as only
/// un-normalised states may be. Another ending has a result there.
/// And 1/l, of the one that multiplies by it.
void require_factor(const Arithmetic& arithmetic, double least, MergePaths& paths);
/// That the sum of weights is not 0, where it may be: the largest term of states (m, l, O) need not have the weight 1.
void require_sum(MergePaths& paths);
/// lse = fl(M + log l^) without the last rounding, |ln l| <= log_size; no independent error of l is above `largest`, and
/// `constant` as in MergePaths.
ElementBound merge_lse(const RowWeights& weights, const Arithmetic& arithmetic, double log_size, double largest,
                       double constant);
/// Log units that a leaf of largest_sum() may grow by: with them any f32 is beyond the f32 range, and e^ of them is still a
/// double. A state 1e10 and more below its join has that error and a descent of 0, and inf · 0 says nothing.
inline constexpr double kMostGrowth = 500;
/// The largest of the sums of `leaves` in the frames of all the joins, which a later and larger m does not show: at every
/// node left + right, each times its descent. Where nothing descends, the sum.
double largest_sum(std::span<const Join> joins, const std::vector<double>& descent, std::vector<double> leaves);

}  // namespace flashproof::bound
