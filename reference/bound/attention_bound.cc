// Score errors and path counts of the two chunked attention reductions (README.md sections 3 and 4).
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/problem_bounds.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSafe = 1 + 0x1p-20;  // covers evaluating the score itself in double: (d + 2) 2^-52 against c_d >= 3u

constexpr const char* kScoreDomain = "scores and their partial sums below the f32 range";  // |.| and its limit

struct RowScores {
  Leaves leaves;
  bool symbolic = false;  // a visible NaN or +inf
  RowDomain domain;
};

/// Exact scores (in double) and D_j of the visible keys of one query row.
RowScores row_scores(const AttentionProblem& p, const Arithmetic& arithmetic, std::int64_t b, std::int64_t h,
                     std::int64_t i) {
  RowScores row;
  const std::int64_t d = p.head_dim();
  const std::int64_t kv = p.kv_head(h);
  const double scale = p.scale;
  const int chains = arithmetic.dot.chains;
  const double eta = product_underflow(arithmetic);
  // One fma per column of a chain, then a binary tree over the chains.
  const double depth = growth(roundings(static_cast<double>((d + chains - 1) / chains + log2_ceil(chains))));
  std::vector<double> errors;
  for (std::int64_t j = 0; j < p.k_length(); ++j) {
    if (!p.position_visible(b, i, j)) {
      continue;
    }
    const double bias = p.has_bias() ? p.bias.at({b, h, i, j}) : 0;
    if (bias == -kInf) {
      continue;
    }
    double dot = 0;
    double size = 0;  // Σ |q||k|
    double finite_size = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      const double product = p.q.at({b, h, i, c}) * p.k.at({b, kv, j, c});  // exact in double
      dot += product;
      size += std::fabs(product);
      finite_size += std::isfinite(product) ? std::fabs(product) : 0;
    }
    const double score = scale * dot + bias;
    if (score == -kInf) {  // weight 0, as if masked; but finite products beside the infinite one may overflow first
      row.domain.require({kScoreDomain, finite_size * (1 + depth), kF32Max});
      continue;
    }
    if (!std::isfinite(score)) {
      row.symbolic = true;
      return row;
    }
    const double dot_error = depth * size + static_cast<double>(d) * eta * (1 + depth);
    const double scaled = std::fabs(scale) * (std::fabs(dot) + dot_error);
    double error = std::fabs(scale) * dot_error + kU * scaled + eta;
    if (p.has_bias()) {
      error += kU * (std::fabs(score) + error);
    }
    row.domain.require(
        {kScoreDomain, std::max({size * (1 + depth), scaled * (1 + kU), std::fabs(score) + error}), kF32Max});
    row.leaves.key.push_back(j);
    row.leaves.score.push_back(score);
    errors.push_back(error * kSafe);
  }
  row.leaves.resize(row.leaves.size());
  row.leaves.score_error = std::move(errors);
  return row;
}

/// One visited chunk: what the running maximum may do there. The scores are uncertain, so a rise is counted whenever it
/// is possible.
struct Visit {
  double low = -kInf;   // certain lower bound of the chunk's maximum
  double high = -kInf;  // upper bound
  bool rises = false;   // the running maximum may rise at this chunk
  bool below = false;   // the chunk's own maximum may lie below the running one
  bool first = false;
  int keys = 0;
};

/// By chunk: when it is visited.
std::vector<int> visiting_position(const ChunkPlan& plan) {
  std::vector<int> position(plan.order.size());
  for (int n = 0; n < plan.chunks(); ++n) {
    position[plan.order[n]] = n;
  }
  return position;
}

/// Returns the largest number of roundings on a path of the numerator.
int count_paths(const ChunkPlan& plan, const Arithmetic& arithmetic, RowModel& row, bool multiply_last) {
  Leaves& leaves = row.leaves;
  std::vector<Visit> visits(plan.chunks());
  std::vector<int> visit_of(leaves.size());
  std::vector<int> rest_of_chain(leaves.size());  // fma roundings from this key to the end of its chunk
  std::vector<int> rest_of_lane(leaves.size());   // additions in its lane, likewise
  std::vector<std::vector<int>> lane_keys(plan.chunks() + 1, std::vector<int>(arithmetic.lanes, 0));
  const std::vector<int> visit_of_chunk = visiting_position(plan);
  int c = plan.chunks() - 1;
  for (std::size_t i = leaves.size(); i-- > 0;) {  // leaves are in key order
    const std::int64_t key = leaves.key[i];
    while (key < plan.boundary[c]) {
      --c;
    }
    const int n = visit_of_chunk[c];
    visit_of[i] = n;
    visits[n].low = std::max(visits[n].low, leaves.score[i] - leaves.score_error[i]);
    visits[n].high = std::max(visits[n].high, leaves.score[i] + leaves.score_error[i]);
    rest_of_chain[i] = ++visits[n].keys;
    rest_of_lane[i] = ++lane_keys[n][(key - plan.boundary[c]) % arithmetic.lanes];
  }
  double low = -kInf;
  double high = -kInf;
  for (Visit& visit : visits) {
    if (visit.keys == 0) {
      continue;
    }
    visit.first = high == -kInf;
    visit.rises = !visit.first && visit.high > low;
    visit.below = !visit.first && visit.low < high;
    low = std::max(low, visit.low);
    high = std::max(high, visit.high);
  }

  const bool deferred = arithmetic.reduction == Reduction::chunk_deferred;
  const int butterfly = log2_ceil(arithmetic.lanes);
  // From the last chunk to the first: what happens to a state after its chunk; in lane_keys, from here on, in how many
  // chunks the lane has keys.
  struct After {
    int rises = 0, chunks = 0, keys = 0;
  };
  std::vector<After> later(plan.chunks() + 1);
  for (int n = plan.chunks() - 1; n >= 0; --n) {
    later[n].rises = later[n + 1].rises + visits[n].rises;
    later[n].chunks = later[n + 1].chunks + (visits[n].keys > 0);
    later[n].keys = later[n + 1].keys + visits[n].keys;
    for (int lane = 0; lane < arithmetic.lanes; ++lane) {
      lane_keys[n][lane] = lane_keys[n + 1][lane] + (lane_keys[n][lane] > 0);
    }
  }
  int longest = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const int own = visit_of[i];
    const auto lane = static_cast<std::size_t>((leaves.key[i] - plan.boundary[plan.order[own]]) % arithmetic.lanes);
    const After& after = later[own + 1];
    const bool not_first = !visits[own].first;
    int exps = 0, shared = 0, numerator = 0, denominator = 0;
    if (deferred) {
      exps = 1 + after.rises;
      numerator = rest_of_chain[i] + after.keys + after.rises;
      denominator = rest_of_lane[i] + not_first + lane_keys[own + 1][lane] + after.rises + butterfly;
    } else {
      // Own chunk: β·pv, the sum, 1/l', the product with it. Later ones: a·o, the sum, 1/l', the product.
      exps = 1 + visits[own].below + after.rises;
      shared = after.rises;  // a = l·α multiplies the old sum and the old output alike
      numerator = rest_of_chain[i] + visits[own].below + not_first + 2 + 4 * after.chunks - (multiply_last ? 1 : 0);
      denominator = rest_of_lane[i] + butterfly + visits[own].below + not_first + after.chunks;
    }
    charge_path(row, arithmetic, i, exps, shared);
    leaves.numerator[i] = roundings(numerator);
    leaves.denominator[i] = roundings(denominator);
    longest = std::max(longest, numerator + shared);
  }
  return longest;
}

}  // namespace

Bound attention_bound(const AttentionProblem& p, const Arithmetic& arithmetic) {
  const std::int64_t dv = p.value_dim();
  Bound bound = zero_bound(p.batch() * p.q_heads() * p.q_length(), dv);
  const bool stored_narrow = p.v.format != Format::f32;
  const bool deferred = arithmetic.reduction == Reduction::chunk_deferred;
  // deferred: o = acc / l, or acc times a rounded reciprocal; the last of them is the storage rounding in f32.
  const bool reciprocal = arithmetic.ending == Ending::multiply_reciprocal;
  const int ending = deferred ? (stored_narrow ? 1 : 0) + (reciprocal ? 1 : 0) : 0;

  std::int64_t row = -1;
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(); ++i) {
        ++row;
        RowScores scores = row_scores(p, arithmetic, b, h, i);
        if (scores.symbolic || scores.leaves.size() == 0) {
          continue;
        }
        bound.domain[row] = scores.domain;
        RowModel model;
        model.leaves = std::move(scores.leaves);
        model.frame = frame_of(model.leaves);
        const int longest = count_paths(p.plan, arithmetic, model, !stored_narrow);
        const auto keys = static_cast<double>(model.leaves.size());
        model.numerator_underflow = (keys + 5.0 * p.plan.chunks()) * product_underflow(arithmetic) * (1 + 0x1p-10);
        // Every lane's share is rescaled on its own, and may be small: l·α underflows once per lane and chunk.
        model.denominator_underflow =
            arithmetic.lanes * p.plan.chunks() * product_underflow(arithmetic) * (1 + 0x1p-10);
        const RowWeights weights = perturbed_weights(model);
        bound.lse[row] = lse_bound(weights, arithmetic.log_error);

        const double accumulated = growth(roundings(longest));
        std::vector<double> values(model.leaves.size());
        const std::int64_t kv = p.kv_head(h);
        for (std::int64_t c = 0; c < dv; ++c) {
          double largest = 0;
          for (std::size_t n = 0; n < values.size(); ++n) {
            values[n] = p.v.at({b, kv, model.leaves.key[n], c});
            largest = std::isfinite(values[n]) ? std::max(largest, std::fabs(values[n])) : kInf;
            if (largest == kInf) {
              break;
            }
          }
          if (largest == kInf) {
            continue;  // the class decides
          }
          // Every weight is at most 1 in its frame, so no partial sum of p·v exceeds keys · max|v|.
          const std::int64_t at = row * dv + c;
          if (keys * largest * (1 + accumulated) >= kF32Max) {
            bound.accumulator_outside[at] = 1;
          }
          bound.o[at] = column_bound(model, weights, values, ending, bound.range[at]);
        }
      }
    }
  }
  return bound;
}

}  // namespace flashproof::bound
