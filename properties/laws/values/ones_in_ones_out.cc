// Weights sum to 1. With v = 1 in every key (o = 1 in every state) the exact o is 1 where a row sees something, times its
// v_descale; 1 − e^{sink − lse} with a sink, of the kernel's own lse and the bound of it; 0 where it sees nothing. The
// blocks of a concatenation, and a row of softmax, sum to 1: the radii of the sum are the sums of theirs. 1 is exact in
// every format, and a weighted sum of ones cancels nothing, so the bound is at its narrowest.
//
// Where the bound says nothing, one contradiction is left: an lse that is a number says that some key has weight, and then
// ones cannot sum to 0 exactly.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/law.h"
#include "properties/laws/support/planted_values.h"

namespace flashproof::law::ones_in_ones_out {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.accumulator_not_rescaled",
                                       "attention.broken.sum_not_rescaled",
                                       "attention.broken.tail_scored_zero",
                                       "attention.broken.last_split_dropped",
                                       "attention.broken.rescale_skipped",
                                       "attention.broken.head_room_downward",
                                       "attention.broken.tanh_by_exponentials",
                                       "attention.broken.finite_infinity",
                                       "attention.broken.sink_counted_twice",
                                       "attention.broken.sink_lost_with_empty_split",
                                       "attention.broken.masked_tile_not_guarded",
                                       "attention.broken.maximum_of_many_rows",
                                       "attention.broken.old_maximum_forgotten",
                                       "attention.broken.idle_split_not_written",
                                       "merge.broken.one_sided_log",
                                       "merge.broken.two_empty_states",
                                       "merge.broken.unshifted_lse",
                                       "merge.broken.unshifted_weights",
                                       "softmax.broken.no_empty_guard",
                                       "softmax.broken.tail_dropped"};

/// The columns that make one sum: first, first + stride, ... below width.
struct Columns {
  std::int64_t sums, stride;
};

Columns columns_of(const Problem& problem, std::int64_t width) {
  if (std::holds_alternative<SoftmaxProblem>(problem)) return {1, 1};
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const bool concat = merge != nullptr && merge->form == MergeForm::concat;
  return concat ? Columns{merge->o.shape[2], merge->o.shape[2]} : Columns{width, width};
}

/// Every weight is gone, though the row has some. Not for softmax, whose columns are weights themselves, and not beside a
/// sink, which may take all of it. A v_descale below the normal numbers of o's format may underflow there.
bool lost(const Problem& problem, const RowWeights& weights, const Reading& reading, std::int64_t column) {
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const bool one_sum = merge != nullptr ? merge->form == MergeForm::sum : kind_of(problem) == ProblemKind::attention;
  return one_sum && !weights.empty() && std::isinf(weights.sink) &&
         std::fabs(value_factor(problem, weights)) >= min_normal(reading.format(Part::o)) &&
         std::isfinite(reading.value(Part::lse, weights.row, 0)) && reading.value(Part::o, weights.row, column) == 0;
}

void check_row(const Problem& problem, const RowWeights& weights, const Reading& reading, Comparison& tally) {
  const double factor = value_factor(problem, weights);
  const Measured keys = weight_of_keys(weights, reading);
  if (!std::isfinite(keys.radius)) return;
  const Columns columns = columns_of(problem, reading.width());
  for (std::int64_t first = 0; first < columns.sums; ++first) {
    Measured sum = exactly(0);
    bool judged = true;
    for (std::int64_t c = first; judged && c < reading.width(); c += columns.stride) {
      const Standing standing = reading.standing(Part::o, weights.row, c);
      judged = standing == Standing::number;
      if (standing == Standing::excused && lost(problem, weights, reading, c)) {
        tally.fail(Failure::silently_wrong,
                   fmt::format("{}: 0 of ones, and lse is {}", place_of(Part::o, weights.row, c),
                               reading.value(Part::lse, weights.row, 0)));
      }
      if (judged) sum = sum + reading.o(weights.row, c);
      if (standing == Standing::special) {
        tally.fail(Failure::class_mismatch,
                   fmt::format("{}: {}, the values are ones", place_of(Part::o, weights.row, c),
                               reading.value(Part::o, weights.row, c)));
      }
    }
    if (!judged) continue;
    tally.agree(sum, keys * exactly(factor), std::fabs(factor) / 2,
                [&] { return fmt::format("{}, the sum of the weights", place_of(Part::o, weights.row, first)); });
  }
}

Verdict relate(Trial& trial) { return relate_planted(trial, plant_ones, Scores::leave, check_row); }

}  // namespace

Law ones_in_ones_out() {
  return {"the weights of a row sum to 1: ones in, ones out, within the bound", kTeeth, relate};
}

}  // namespace flashproof::law::ones_in_ones_out
