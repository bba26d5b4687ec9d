// Unit vectors for v make o the weights themselves: column c is the sum of p over the keys whose value is e_c. So
//   Σ_c o_c = 1 (1 − e^{sink − lse} with a sink, of the kernel's own lse), and
//   o_c · W_b = o_b · W_c,  W_c = Σ e^{s_j − s_max} over the same keys, b the column of the largest W,
// each within the bounds of the elements that it reads. The scores s_j are those of the inputs, in double with a rigorous
// radius (weights.h); no truth of an output is asked for. A column without a key is 0 within its bound. A merge does the
// same with its states; blocks of a concatenation and columns of softmax are the weights as they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/laws/law.h"
#include "properties/laws/support/planted_values.h"

namespace flashproof::law::one_hot_v_returns_p {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.sum_in_storage_format",
                                       "attention.broken.log2e_dropped",
                                       "attention.broken.log2e_twice",
                                       "attention.broken.scale_dropped",
                                       "attention.broken.scale_twice",
                                       "attention.broken.softcap_ignored",
                                       "attention.broken.window_one_wide",
                                       "attention.broken.weights_not_lifted",
                                       "attention.broken.rescale_skipped",
                                       "attention.broken.score_rounded_before_scale",
                                       "attention.broken.kv_head_divided_by_kv_heads",
                                       "attention.broken.last_tile_dropped",
                                       "attention.broken.last_split_dropped",
                                       "attention.broken.causal_top_left",
                                       "attention.broken.causal_tile_skipped_early",
                                       "merge.broken.lse_in_16_bits",
                                       "merge.broken.merged_in_base_2",
                                       "merge.broken.misprinted_lse",
                                       "merge.broken.output_rounded_per_hop"};
constexpr double kVanished = -745;  // e^x is below the least double

/// The weights as the columns add them up, in the frame of the largest score.
class Expected {
 public:
  Expected(const Problem& problem, const RowWeights& row, std::int64_t width)
      : weight_(static_cast<std::size_t>(width), exactly(0)) {
    double most = -std::numeric_limits<double>::infinity();
    for (const Measured& score : row.score) most = std::max(most, score.value);
    for (std::size_t n = 0; n < row.key.size(); ++n) {
      const Measured below = row.score[n] - exactly(most);
      if (below.value + below.radius < kVanished) {
        add(problem, row, row.key[n], {0, std::numeric_limits<double>::denorm_min()});
      } else {
        known_ = known_ && below.radius < 0.25;
        add(problem, row, row.key[n], exp(below));
      }
    }
  }

  const Measured& operator[](std::int64_t column) const { return weight_[static_cast<std::size_t>(column)]; }
  std::int64_t largest() const { return std::ranges::max_element(weight_, {}, &Measured::value) - weight_.begin(); }
  /// False if scores are so large that double does not know a weight: beyond 2^45 or so.
  bool known() const { return known_; }
  /// How often a key's weight stands in the row.
  std::int64_t copies() const { return copies_; }

 private:
  void add(const Problem& problem, const RowWeights& row, std::int64_t key, const Measured& weight) {
    const auto put = [&](std::int64_t column) {
      Measured& sum = weight_[static_cast<std::size_t>(column)];
      sum = sum + weight;
    };
    if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
      put(hot_column(*p, row.sequence, row.kv_head, key));
    } else if (const auto* m = std::get_if<MergeProblem>(&problem)) {
      const std::int64_t dv = m->o.shape[2];
      if (m->form == MergeForm::sum) return put(key % dv);
      for (std::int64_t c = 0; c < dv; ++c) put(key * dv + c);
      copies_ = dv;
    } else {
      put(key);
    }
  }

  std::vector<Measured> weight_;
  std::int64_t copies_ = 1;
  bool known_ = true;
};

void check_row(const Problem& problem, const RowWeights& row, const Reading& reading, Comparison& tally) {
  if (reading.width() == 0) return;
  for (std::int64_t c = 0; c < reading.width(); ++c) {
    const Standing standing = reading.standing(Part::o, row.row, c);
    if (standing == Standing::special) {
      tally.fail(Failure::class_mismatch, fmt::format("{}: {}, a sum of weights", place_of(Part::o, row.row, c),
                                                      reading.value(Part::o, row.row, c)));
    }
    if (standing != Standing::number) return;
  }
  const double factor = value_factor(problem, row);
  const Expected expected(problem, row, reading.width());
  if (!expected.known()) return;
  const std::int64_t base = expected.largest();
  const Measured o_base = reading.o(row.row, base);
  Measured sum = exactly(0);
  for (std::int64_t c = 0; c < reading.width(); ++c) {
    const Measured o = reading.o(row.row, c);
    sum = sum + o;
    tally.agree(o * expected[base], o_base * expected[c], std::fabs(factor) * expected[base].value / 2, [&] {
      return fmt::format("{}, beside column {}, each times the other's weights", place_of(Part::o, row.row, c), base);
    });
  }
  const Measured keys = weight_of_keys(row, reading);
  if (!std::isfinite(keys.radius)) return;
  const double copies = static_cast<double>(expected.copies());
  tally.agree(sum, keys * exactly(factor * copies), std::fabs(factor) * copies / 2,
              [&] { return fmt::format("{} and the rest of its row, summed", place_of(Part::o, row.row, 0)); });
}

Verdict relate(Trial& trial) { return relate_planted(trial, plant_one_hot, Scores::compute, check_row); }

}  // namespace

Law one_hot_v_returns_p() {
  return {"unit vectors for v return the weights: they sum to 1 and their ratios follow the scores", kTeeth, relate};
}

}  // namespace flashproof::law::one_hot_v_returns_p
