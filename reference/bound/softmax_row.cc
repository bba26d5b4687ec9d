#include "reference/bound/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reference/bound/costs.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

bool stands_alone(const Arithmetic& a) { return a.reduction == Reduction::chunk_states; }
/// Whether the sum is of e^x itself, by key or by chunk.
bool is_unshifted(const Arithmetic& a) {
  return a.reduction == Reduction::unshifted || (stands_alone(a) && a.merge_weights == MergeWeights::unshifted);
}

/// Log units of the exponential of a key as it enters its sum.
double entry_cost(const SoftmaxKey& key, const Arithmetic& a) {
  if (a.reduction == Reduction::unshifted) return key.same ? 0 : unshifted_cost(a, key.x) + exponential_cost(a);
  if (key.same && !rounds_frame(a)) return 0;
  // Unfused, x − x is 0 and the exponential 1, but fl(x·ĉ) errs beside the frame of the others.
  const bool exact = key.same && a.exponent == Exponent::unfused;
  return argument_cost(a, key.entry - key.x, key.x, key.widest) + (exact ? 0 : exponential_cost(a));
}

/// The part of it that is the error of the constant log2 e.
double entry_constant(const SoftmaxKey& key, const Arithmetic& a) {
  return constant_cost(a, a.reduction == Reduction::unshifted ? key.x : key.entry - key.x);
}

/// Log units of the factors after that, beside a key that entered in the final frame. Rescales are made by
/// subtract_then_scale; the frames' own roundings differ.
double rescale_cost(const SoftmaxKey& key, const Arithmetic& a, double max) {
  if (key.rescales == 0) return 0;
  const double gap = max - key.entry;
  const double mismatch = frame_cost(a, key.widest) + frame_cost(a, max);
  return (exponent_slope(a) * gap + key.rescales * exponential_cost(a) + 0x1p-50 * gap + mismatch) * kSlack;
}

/// Log units that all keys of a chunk have from its m, its lse and its weight in the combination.
double block_cost(const ChunkState& chunk, double chunk_error, double largest, const Arithmetic& a, std::size_t count) {
  const double entry = frame_cost(a, chunk.max);
  if (a.merge_weights == MergeWeights::max_sum) {
    const double below = largest - chunk.max;
    return below == 0 && !rounds_frame(a) ? entry
                                          : entry + argument_cost(a, below, chunk.max, largest) + exponential_cost(a);
  }
  const double log_sum = std::log(chunk.sum) + chunk_error + entry;
  const double log_error = a.log_error * log_sum + a.log_absolute;
  const double lse = std::fabs(chunk.max + std::log(chunk.sum)) + chunk_error + entry;
  const double local = log_error + sum_cost(lse + log_error, log_sum + log_error);
  if (a.merge_weights == MergeWeights::unshifted) {
    return entry + local + unshifted_cost(a, lse + local) + exponential_cost(a);
  }
  if (count == 1 && !rounds_frame(a)) return entry + local;  // lse − lse is 0
  const double reach = largest - (chunk.max + std::log(chunk.sum)) + 2 * (chunk_error + entry + local);
  return entry + local + argument_cost(a, reach, lse + local, std::fabs(largest) + chunk_error + entry + local) +
         exponential_cost(a);
}

/// The same of a chunk: of its weight, and where its sum is in its lse of that, too.
double block_constant(const ChunkState& chunk, double chunk_error, double chunk_constant, double block, double largest,
                      const Arithmetic& a) {
  if (a.merge_weights == MergeWeights::max_sum) return constant_cost(a, largest - chunk.max);
  const double lse = chunk.max + std::log(chunk.sum);
  const double reach = a.merge_weights == MergeWeights::unshifted ? std::fabs(lse) : largest - lse;
  return chunk_constant + constant_cost(a, reach + 2 * (chunk_error + block));
}

/// Sets row.block, adds to row.constant, and returns the frame of the combination: the largest m, or the largest lse.
double charge_blocks(SoftmaxRow& row, const Arithmetic& a) {
  const auto& chunks = row.paths.chunks;
  if (chunks.empty()) {
    row.block.assign(1, 0.0);
    return row.paths.max;
  }
  std::vector<double> error(chunks.size(), 0);  // of ln d_i, at most
  std::vector<double> constant(chunks.size(), 0);
  for (std::size_t j = 0; j < row.paths.keys.size(); ++j) {
    const SoftmaxKey& key = row.paths.keys[j];
    error[key.chunk] = std::max(error[key.chunk], row.own[j] + roundings(key.roundings));
    constant[key.chunk] = std::max(constant[key.chunk], row.constant[j]);
  }
  double largest = -std::numeric_limits<double>::infinity();
  for (const ChunkState& chunk : chunks) {
    const bool sums = a.merge_weights == MergeWeights::max_sum;
    largest = std::max(largest, sums ? chunk.max : chunk.max + std::log(chunk.sum));
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    row.block.push_back(block_cost(chunks[i], error[i], largest, a, chunks.size()) * kSlack);
    constant[i] = block_constant(chunks[i], error[i], constant[i], row.block[i], largest, a);
  }
  for (std::size_t j = 0; j < row.paths.keys.size(); ++j) row.constant[j] += constant[row.paths.keys[j].chunk];
  return largest;
}

/// e^β_i beside Σ P_k e^β_k (1 + ω), every β in its box: the largest and the least, exactly.
void share_out(SoftmaxRow& row) {
  const RowWeights& weights = row.weights;
  const std::size_t chunks = row.block.size();
  if (row.paths.chunks.empty()) {
    row.shares.assign(1, {.most = 1 / weights.low, .least = 1 / weights.up});
    return;
  }
  std::vector<double> low(chunks, 0);
  std::vector<double> up(chunks, 0);
  for (std::size_t j = 0; j < weights.p.size(); ++j) {
    const int chunk = row.paths.keys[j].chunk;
    const double log_p = row.model.leaves.score[j] - row.paths.max - row.log_sum;
    const double lost = row.model.leaves.lost[j] == 0 ? 0 : row.model.leaves.lost[j] / weights.sum;
    low[chunk] += std::max(0.0, std::exp(log_p - row.own[j]) - lost) / kSlack;
    up[chunk] += (std::exp(log_p + row.own[j]) + lost) * kSlack;
  }
  double low_sum = 0;
  double up_sum = 0;
  for (std::size_t i = 0; i < chunks; ++i) {
    low_sum += low[i] * std::exp(-row.block[i]);
    up_sum += up[i] * std::exp(row.block[i]);
  }
  for (std::size_t i = 0; i < chunks; ++i) {
    const double others_low = std::max(0.0, low_sum / kSlack - low[i] * std::exp(-row.block[i]));
    const double others_up = up_sum * kSlack - up[i] * std::exp(row.block[i]);
    const double least = 1 / (up[i] + others_up * std::exp(row.block[i]));
    row.shares.push_back({.most = 1 / (low[i] + others_low * std::exp(-row.block[i])), .least = least > 0 ? least : 0});
  }
}

void require_domain(SoftmaxRow& row, const Arithmetic& a) {
  const auto n = static_cast<double>(row.paths.keys.size());
  const double log_sum = row.lse.weights + row.lse.denominator;
  if (is_unshifted(a)) {
    row.preconditions.push_back(
        {"sum of e^x below the f32 range: log of it", row.weights.lse + log_sum, kLogF32Max, false});
    row.preconditions.push_back(
        {"sum of e^x above the smallest normal f32: -log of it", log_sum - row.weights.lse, kLogMinNormal, false});
  } else {
    row.preconditions.push_back(
        {"sum of weights below the f32 range", n * std::exp(std::min(row.model.common + log_sum, 700.0)), kF32Max});
  }
  if (rounds_frame(a) && a.reduction != Reduction::unshifted) {
    double frame = std::fabs(row.paths.max);
    for (const SoftmaxKey& key : row.paths.keys) frame = std::max(frame, std::fabs(key.entry));
    row.preconditions.push_back(head_room(a, frame, n));
  }
  // Unshifted, a sum in range keeps lse within it: beyond range the form fails and has no excuse here.
  if (a.ending == Ending::division_free && a.reduction != Reduction::unshifted) {
    row.preconditions.push_back({"weights e^(x - lse) below the f32 range: log of the largest",
                                 row.lse.total() + row.lse_last + frame_cost(a, std::fabs(row.weights.lse)),
                                 kLogF32Max});
  }
}

}  // namespace

SoftmaxRow softmax_row(const SoftmaxProblem& problem, const Arithmetic& a, const std::vector<double>& x) {
  SoftmaxRow row;
  const auto columns = static_cast<std::int64_t>(x.size());
  const int lanes = a.lanes > 0 ? a.lanes : a.lanes_of(columns);
  if (a.warps > lanes) throw std::invalid_argument("declared arithmetic: warps: at most lanes");
  row.paths = softmax_paths(problem, a, x, {lanes, deal(a, problem.x.format)});
  RowModel& model = row.model;
  Leaves& leaves = model.leaves;
  for (const SoftmaxKey& key : row.paths.keys) {
    leaves.key.push_back(key.column);
    leaves.score.push_back(key.x);
  }
  leaves.resize(row.paths.keys.size());
  model.frame = frame_of(leaves);
  const auto n = static_cast<double>(leaves.size());
  const double max = row.paths.max;

  std::vector<double> alone;  // of `own`, what is no other key's
  for (const SoftmaxKey& key : row.paths.keys) {
    const double constant = entry_constant(key, a);
    row.own.push_back(entry_cost(key, a));
    alone.push_back(std::max(0.0, row.own.back() - constant));
    row.constant.push_back(constant + (key.rescales == 0 ? 0 : constant_cost(a, max - key.entry)));
  }
  const double combined = charge_blocks(row, a);
  const bool plain = !stands_alone(a) && !is_unshifted(a) && !rounds_frame(a);
  row.shifted = !is_unshifted(a);
  // Of a chunk, an exponential may be lost in units of its own frame, at most that of the row.
  const double least_unit = stands_alone(a) ? 0 : -std::numeric_limits<double>::infinity();
  row.unit = is_unshifted(a) ? std::exp(std::clamp(-max, least_unit, 700.0)) : 1;
  const double lost_unit = stands_alone(a) ? n * row.unit : row.unit;  // the frame may be ln n above the maximum
  double widest = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const SoftmaxKey& key = row.paths.keys[j];
    const ChunkState* chunk = row.paths.chunks.empty() ? nullptr : &row.paths.chunks[key.chunk];
    leaves.denominator[j] = roundings(key.roundings + (chunk == nullptr ? 0 : chunk->roundings));
    const int exps = (key.same && !rounds_frame(a) ? 0 : 1) + key.rescales + (chunk == nullptr ? 0 : 1);
    if (plain) {
      charge_path(model, a, j, exps, 0);
    } else {
      leaves.exponent[j] = row.own[j] + rescale_cost(key, a, max) + (chunk == nullptr ? 0 : row.block[key.chunk]);
      const double path = is_unshifted(a) ? std::max(-key.x, 0.0) : max - key.x;
      if (path + leaves.exponent[j] + frame_cost(a, max) >
          kLogMinNormal - 0x1p-10 - (chunk == nullptr ? 0 : std::log(n))) {
        leaves.lost[j] = exps * exp_underflow(a) * std::exp(std::min(2 * leaves.exponent[j], 700.0)) * lost_unit;
      }
    }
    leaves.own[j] = std::min(alone[j], leaves.exponent[j]);
    row.shared = std::max(row.shared, leaves.exponent[j] - leaves.own[j]);
    widest = std::max(widest, leaves.exponent[j]);
  }
  if (!plain) {
    model.frame.pivot = -1;  // no weight is 1 for certain: the largest is e^−widest at least
    model.frame.error = 0;
    model.frame.pivot_error = 0;
    model.lead = widest;
    model.common = is_unshifted(a) ? 0 : stands_alone(a) ? frame_cost(a, combined) : frame_cost(a, max);
  }
  // A rescaling product per column and two per lane in the tree, or two per chunk, may underflow.
  const double products = a.reduction == Reduction::chunked_local ? 2.0 * n : n + 2.0 * lanes;
  model.denominator_underflow = underflow_of(a, products, products) * row.unit * kLater;
  row.weights = perturbed_weights(model);
  double denominator = 0;  // every rounding of a sum has at most the whole of it below it: Σ δ² <= u Σ p G
  for (std::size_t j = 0; j < leaves.size(); ++j) denominator += row.weights.p[j] * leaves.denominator[j];
  model.denominator_square = roundings(1) * denominator * kSlack;
  row.weights = perturbed_weights(model);
  double sum = 0;
  for (const SoftmaxKey& key : row.paths.keys) sum += std::exp(key.x - max);
  row.log_sum = std::log(sum);
  row.constant_mean = row.weights.average([&](std::size_t j) { return growth(row.constant[j]); });
  share_out(row);

  row.lse = lse_bound(row.weights, a.log_error, a.log_absolute);
  double log_size = row.weights.log_sum;
  if (!plain) {  // no weight is 1 for certain, and the logarithm may be of another sum than Σ e^{x − m}
    log_size = (std::fabs(row.log_sum + (max - (is_unshifted(a) ? 0 : combined))) + row.lse.weights +
                row.lse.denominator + (stands_alone(a) ? widest : 0)) *
               kSlack;
    const double before = row.lse.output;
    row.lse.output = (a.log_error * log_size + a.log_absolute) * kSlack;
    row.lse.probable = std::min(std::max(0.0, row.lse.probable - before) * kSlack + row.lse.output, row.lse.total());
  }
  row.largest_sum = std::exp(std::min(
      (is_unshifted(a) ? row.weights.lse : std::log(n) + model.common) + row.lse.weights + row.lse.denominator, 700.0));
  const double magnitude = std::fabs(row.weights.lse) + row.lse.total();
  row.lse_last = is_unshifted(a) ? 0 : sum_cost(magnitude, log_size + row.lse.output);
  require_domain(row, a);
  return row;
}

}  // namespace flashproof::bound
