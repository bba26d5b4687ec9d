// Score errors and path counts of the two chunked attention reductions (README.md sections 3 and 4).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/bound/problem_bounds.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSafe = 1 + 0x1p-20;  // covers evaluating the score itself in double: (d + 2) 2^-52 against c_d >= 3u

struct RowScores {
  std::vector<Leaf> leaves;
  bool symbolic = false;  // a visible NaN or +inf
  std::string domain;     // the precondition that fails
};

/// Exact scores (in double) and D_j of the visible keys of one query row.
RowScores row_scores(const AttentionProblem& p, const Arithmetic& arithmetic, std::int64_t b, std::int64_t h,
                     std::int64_t i) {
  RowScores row;
  const std::int64_t d = p.head_dim();
  const std::int64_t kv = p.kv_head(h);
  const double scale = p.scale;
  const int chains = arithmetic.dot_chains;
  // One fma per column of a chain, then a binary tree over the chains.
  const double depth = growth(static_cast<int>((d + chains - 1) / chains) + std::bit_width(unsigned(chains)) - 1);
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
    for (std::int64_t c = 0; c < d; ++c) {
      const double product = p.q.at({b, h, i, c}) * p.k.at({b, kv, j, c});  // exact in double
      dot += product;
      size += std::fabs(product);
    }
    const double score = scale * dot + bias;
    if (score == -kInf) {
      continue;  // weight 0, as if masked
    }
    if (!std::isfinite(score)) {
      row.symbolic = true;
      return row;
    }
    const double dot_error = depth * size + static_cast<double>(d) * kEtaRound * (1 + depth);
    const double scaled = std::fabs(scale) * (std::fabs(dot) + dot_error);
    double error = std::fabs(scale) * dot_error + kU * scaled + kEtaRound;
    if (p.has_bias()) {
      error += kU * (std::fabs(score) + error);
    }
    if (size * (1 + depth) >= kF32Max || scaled * (1 + kU) >= kF32Max || std::fabs(score) + error >= kF32Max) {
      row.domain = "scores and their partial sums below the f32 range";
    }
    row.leaves.push_back({.key = j, .score = score, .score_error = error * kSafe});
  }
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

void count_paths(const ChunkPlan& plan, const Arithmetic& arithmetic, std::vector<Leaf>& leaves, bool multiply_last) {
  std::vector<Visit> visits(plan.chunks());
  std::vector<int> visit_of(leaves.size());
  std::vector<int> rest_of_chain(leaves.size());  // fma roundings from this key to the end of its chunk
  std::vector<int> rest_of_lane(leaves.size());   // additions in its lane, likewise
  std::vector<std::vector<int>> lane_keys(plan.chunks(), std::vector<int>(arithmetic.lanes, 0));
  for (int n = 0; n < plan.chunks(); ++n) {
    const int c = plan.order[n];
    for (std::size_t i = leaves.size(); i-- > 0;) {
      const Leaf& leaf = leaves[i];
      if (leaf.key < plan.boundary[c] || leaf.key >= plan.boundary[c + 1]) {
        continue;
      }
      visit_of[i] = n;
      visits[n].low = std::max(visits[n].low, leaf.score - leaf.score_error);
      visits[n].high = std::max(visits[n].high, leaf.score + leaf.score_error);
      rest_of_chain[i] = ++visits[n].keys;
      rest_of_lane[i] = ++lane_keys[n][(leaf.key - plan.boundary[c]) % arithmetic.lanes];
    }
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
  const int butterfly = std::bit_width(static_cast<unsigned>(arithmetic.lanes)) - 1;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Leaf& leaf = leaves[i];
    const int own = visit_of[i];
    const auto lane = static_cast<std::size_t>((leaf.key - plan.boundary[plan.order[own]]) % arithmetic.lanes);
    int later_rises = 0;
    int later_chunks = 0;
    int later_keys = 0;
    int later_in_lane = 0;
    for (int n = own + 1; n < plan.chunks(); ++n) {
      later_rises += visits[n].rises;
      later_chunks += visits[n].keys > 0;
      later_keys += visits[n].keys;
      later_in_lane += lane_keys[n][lane] > 0;
    }
    const bool not_first = !visits[own].first;
    if (deferred) {
      leaf.exps = 1 + later_rises;
      leaf.numerator = rest_of_chain[i] + later_keys + later_rises;
      leaf.denominator = rest_of_lane[i] + not_first + later_in_lane + later_rises + butterfly;
    } else {
      // Own chunk: β·pv, the sum, 1/l', the product with it. Later ones: a·o, the sum, 1/l', the product.
      leaf.exps = 1 + visits[own].below + later_rises;
      leaf.shared = later_rises;  // a = l·α multiplies the old sum and the old output alike
      leaf.numerator =
          rest_of_chain[i] + visits[own].below + not_first + 2 + 4 * later_chunks - (multiply_last ? 1 : 0);
      leaf.denominator = rest_of_lane[i] + butterfly + visits[own].below + not_first + later_chunks;
    }
  }
}

}  // namespace

Bound attention_bound(const AttentionProblem& p, const Arithmetic& arithmetic) {
  const std::int64_t dv = p.value_dim();
  Bound bound = zero_bound(p.batch() * p.q_heads() * p.q_length(), dv);
  const bool stored_narrow = p.v.format != Format::f32;
  const bool deferred = arithmetic.reduction == Reduction::chunk_deferred;
  const int ending = deferred && stored_narrow ? 1 : 0;

  std::int64_t row = -1;
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(); ++i) {
        ++row;
        RowScores scores = row_scores(p, arithmetic, b, h, i);
        if (scores.symbolic || scores.leaves.empty()) {
          continue;
        }
        bound.domain[row].failed = scores.domain;
        RowModel model = model_for(arithmetic);
        model.leaves = std::move(scores.leaves);
        count_paths(p.plan, arithmetic, model.leaves, !stored_narrow);
        const auto keys = static_cast<double>(model.leaves.size());
        model.numerator_underflow = (keys + 5.0 * p.plan.chunks()) * kEtaRound * (1 + 0x1p-10);
        model.denominator_underflow = p.plan.chunks() * kEtaRound * (1 + 0x1p-10);
        const RowWeights weights = perturbed_weights(model);
        bound.lse[row] = lse_bound(weights, arithmetic.log_error);

        std::vector<double> values(model.leaves.size());
        const std::int64_t kv = p.kv_head(h);
        for (std::int64_t c = 0; c < dv; ++c) {
          double largest = 0;
          for (std::size_t n = 0; n < values.size(); ++n) {
            values[n] = p.v.at({b, kv, model.leaves[n].key, c});
            largest = std::isfinite(values[n]) ? std::max(largest, std::fabs(values[n])) : kInf;
            if (largest == kInf) {
              break;
            }
          }
          if (largest == kInf) {
            continue;  // the class decides
          }
          // Every weight is at most 1 in its frame, so no partial sum of p·v exceeds keys · max|v|.
          if (keys * largest * (1 + 0x1p-10) >= kF32Max && bound.domain[row].holds()) {
            bound.domain[row].failed = "un-normalised accumulator below the f32 range";
          }
          const std::int64_t at = row * dv + c;
          bound.o[at] = column_bound(model, weights, values, ending, bound.range[at]);
        }
      }
    }
  }
  return bound;
}

}  // namespace flashproof::bound
