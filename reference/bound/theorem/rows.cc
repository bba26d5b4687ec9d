// Rows for check.py: what the C++ code makes of them, to be compared with the proofs. One record a line, doubles as hexfloats.
//   row n frame-error common lead El EN T Eo | n times: s H Z R G z v | weights numerator denominator output
//   form lanes deal warps keys-per-chunk | n times: x entry rescales roundings
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/merge/merge_tree.h"
#include "reference/bound/softmax/softmax_paths.h"
#include "reference/bound/test/row_model_test_support.h"
#include "reference/bound/vector/column_sums.h"

namespace flashproof::bound {
namespace {

constexpr int kRows = 200;
constexpr int kRowsBeyond = 60;  // of each kind
constexpr int kPlans = 60;
constexpr int kMerges = 30;

void print_row(const Scenery& scene) {
  const RowModel& row = scene.row;
  const RowWeights weights = perturbed_weights(row);
  const ElementBound bound = closed_form(row, weights, column_sums(row, weights, scene.v), scene.ending);
  std::printf("row %zu %a %a %a %a %a %a %a", scene.v.size(), row.frame.pivot >= 0 ? 0 : row.frame.error, row.common,
              row.lead, row.denominator_underflow, row.numerator_underflow, scene.ending.log_units,
              scene.ending.underflow);
  const Leaves& leaves = row.leaves;
  for (std::size_t j = 0; j < scene.v.size(); ++j) {
    std::printf(" %a %a %a %a %a %a %a", leaves.score[j], row.frame.score_error(leaves, j) + leaves.exponent[j],
                leaves.lost[j], leaves.numerator[j], leaves.denominator[j], leaves.lost_numerator[j], scene.v[j]);
  }
  std::printf(" %a %a %a %a\n", bound.weights, bound.numerator, bound.denominator, bound.output);
}

void print_plan(Random& random, int round) {
  const Lanes lanes{.lanes = 1 << random.integer(0, 3), .deal = 1 << random.integer(0, 1)};
  Arithmetic arithmetic{.reduction = Reduction::chunked_online};
  arithmetic.warps = lanes.lanes >= 4 ? 2 : 1;
  // Whole runs of every lane: with less, the code counts a sum's butterfly whether or not a lane is empty.
  const auto chunk = lanes.lanes * lanes.deal * random.integer(1, 3);
  const auto n = chunk * random.integer(1, 4);
  SoftmaxPaths paths;
  for (std::int64_t j = 0; j < n; ++j) {
    paths.column.push_back(j);
    paths.x.push_back(static_cast<double>(random.integer(-9, 9)));
  }
  for (auto* array : {&paths.rescales, &paths.roundings}) array->resize(paths.x.size());
  paths.entry.resize(paths.x.size());
  const ChunkPlan plan = ChunkPlan::uniform(n, chunk);
  constexpr const char* kForms[] = {"strided_online", "chunked_online", "chunked_local"};
  if (round % 3 == 0) walk_strided_online(lanes, paths);
  if (round % 3 == 1) walk_chunked_online(plan, arithmetic, lanes, paths);
  if (round % 3 == 2) walk_chunked_local(plan, arithmetic, lanes, paths);
  std::printf("%s %d %d %d %d", kForms[round % 3], lanes.lanes, static_cast<int>(lanes.deal), arithmetic.warps,
              static_cast<int>(chunk));
  for (std::size_t j = 0; j < paths.size(); ++j) {
    std::printf(" %d %d %d %d", static_cast<int>(paths.x[j]), static_cast<int>(paths.entry[j]), paths.rescales[j],
                paths.roundings[j]);
  }
  std::printf("\n");
}

/// Joins of (m, l, O), l = 1. An exponential that errs by a half costs ln 2 units, beside which its argument's are nothing:
/// the exponent says how many there were.
void print_joins(Random& random, bool tree) {
  const int n = static_cast<int>(random.integer(2, 24));
  const Arithmetic arithmetic{.reduction = tree ? Reduction::pairwise_tree : Reduction::pairwise_fold,
                              .exp_error = 0.5,
                              .merge_weights = MergeWeights::max_sum};
  std::vector<MergeState> states(static_cast<std::size_t>(n));
  for (MergeState& state : states) state.max = {static_cast<double>(random.integer(-9, 9))};
  const std::vector<Join> joins = joins_of(arithmetic.reduction, n);
  const MergePaths paths = sum_tree_paths(states, arithmetic, joins, MergeForm::sum);
  std::printf("max_sum_%s 1 1 1 1", tree ? "tree" : "fold");
  for (std::size_t c = 0; c < states.size(); ++c) {
    std::printf(" %d 0 %ld %ld", static_cast<int>(states[c].max.count),
                std::lround(paths.row.leaves.exponent[c] / std::numbers::ln2),
                std::lround(paths.row.leaves.denominator[c] / roundings(1)));
  }
  std::printf("\n");
}

}  // namespace
}  // namespace flashproof::bound

int main() {
  using namespace flashproof;
  for (int round = 0; round < bound::kRows; ++round) {
    Random random(22, static_cast<std::uint64_t>(round));
    bound::print_row(bound::draw_scenery(random));
  }
  for (const bound::Beyond beyond : {bound::Beyond::low, bound::Beyond::shrink, bound::Beyond::both}) {
    for (int round = 0; round < bound::kRowsBeyond; ++round) {
      Random random(25 + static_cast<std::uint64_t>(beyond), static_cast<std::uint64_t>(round));
      bound::print_row(bound::draw_beyond(random, beyond));
    }
  }
  for (int round = 0; round < bound::kPlans; ++round) {
    Random random(23, static_cast<std::uint64_t>(round));
    bound::print_plan(random, round);
  }
  for (int round = 0; round < bound::kMerges; ++round) {
    Random random(24, static_cast<std::uint64_t>(round));
    bound::print_joins(random, round % 2 == 1);
  }
}
