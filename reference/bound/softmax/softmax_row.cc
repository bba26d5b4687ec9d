#include "reference/bound/softmax/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reference/bound/costs.h"
#include "reference/bound/row/row_weights.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/softmax/softmax_keys.h"
#include "reference/bound/vector/kernels.h"

namespace flashproof::bound {

namespace {

bool stands_alone(const Arithmetic& a) { return a.reduction == Reduction::chunk_states; }
/// Whether the sum is of e^x itself, by key or by chunk.
bool is_unshifted(const Arithmetic& a) {
  return a.reduction == Reduction::unshifted || (stands_alone(a) && a.merge_weights == MergeWeights::unshifted);
}

/// What every key's exponential costs as it enters its sum: row.own, in log units, and row.constant, the part of that, and of
/// the rescaling exponentials after it, that is the error of the constant log2 e. Returns what is no other key's.
std::vector<double> charge_entries(SoftmaxRow& row, const Arithmetic& a) {
  const SoftmaxPaths& paths = row.paths;
  const std::size_t n = paths.size();
  const double exponential = exponential_cost(a).count;
  const double per_gap = constant_cost(a, {1}).count;
  std::vector<double> alone(n);
  row.own.resize(n);
  row.constant.resize(n);
  if (a.reduction == Reduction::unshifted) {
    for (std::size_t j = 0; j < n; ++j) {
      row.own[j] = paths.x[j] == 0 ? 0 : unshifted_cost(a, {paths.x[j]}).count + exponential;
      row.constant[j] = per_gap * std::fabs(paths.x[j]);
      alone[j] = std::max(0.0, row.own[j] - row.constant[j]);
    }
    return alone;
  }
  const bool rescaled = !stands_alone(a);
  const double max = paths.max;
  ArgumentCosts argument(a, {});
  for (std::size_t j = 0; j < n; ++j) {
    const double gap = paths.entry[j] - paths.x[j];
    const double constant = per_gap * gap;
    if (rounds_frame(a)) argument = ArgumentCosts(a, {paths.widest_frame(j)});
    const double cost = argument.of({gap}, {paths.x[j]}).count;
    // x − x is 0 and the exponential 1. Unfused it is, too, but fl(x·ĉ) errs beside the frame of the others; fused it is not.
    const double at_frame = !rounds_frame(a) ? 0 : a.exponent == Exponent::unfused ? cost : cost + exponential;
    const double own = gap == 0 ? at_frame : cost + exponential;
    row.own[j] = own;
    alone[j] = std::max(0.0, own - constant);
    row.constant[j] = constant + (rescaled ? per_gap * (max - paths.entry[j]) : 0);
  }
  return alone;
}

/// Log units of the factors after that, beside a key that entered in the final frame. Rescales are made by
/// subtract_then_scale; the frames' own roundings differ.
double rescale_cost(const SoftmaxPaths& paths, std::size_t j, const Arithmetic& a) {
  if (paths.rescales[j] == 0) return 0;
  const double gap = paths.max - paths.entry[j];
  const double mismatch = frame_cost(a, {paths.widest_frame(j)}).count + frame_cost(a, {paths.max}).count;
  return (exponent_slope(a) * gap + paths.rescales[j] * exponential_cost(a).count + 0x1p-50 * gap + mismatch) * kSlack;
}

/// Log units that all keys of a chunk have from its m, its lse and its weight in the combination.
double block_cost(const ChunkState& chunk, double chunk_error, double largest, const Arithmetic& a, std::size_t count) {
  const double entry = frame_cost(a, {chunk.max}).count;
  if (a.merge_weights == MergeWeights::max_sum) {
    const double below = largest - chunk.max;
    if (below == 0 && !rounds_frame(a)) return entry;
    return entry + argument_cost(a, {below}, {chunk.max}, {largest}).count + exponential_cost(a).count;
  }
  const double log_sum = std::log(chunk.sum) + chunk_error + entry;
  const double log_error = logarithm_cost(a.log_error, a.log_absolute, log_sum);
  const double lse = std::fabs(chunk.max + std::log(chunk.sum)) + chunk_error + entry;
  const double local = log_error + sum_cost(lse + log_error, log_sum + log_error);
  if (a.merge_weights == MergeWeights::unshifted) {
    return entry + local + unshifted_cost(a, {lse + local}).count + exponential_cost(a).count;
  }
  if (count == 1 && !rounds_frame(a)) return entry + local;  // lse − lse is 0
  const double reach = largest - (chunk.max + std::log(chunk.sum)) + 2 * (chunk_error + entry + local);
  return entry + local +
         argument_cost(a, {reach}, {lse + local}, {std::fabs(largest) + chunk_error + entry + local}).count +
         exponential_cost(a).count;
}

/// The same of a chunk: of its weight, and where its sum is in its lse of that, too.
double block_constant(const ChunkState& chunk, double chunk_error, double chunk_constant, double block, double largest,
                      const Arithmetic& a) {
  if (a.merge_weights == MergeWeights::max_sum) return constant_cost(a, {largest - chunk.max}).count;
  const double lse = chunk.max + std::log(chunk.sum);
  const double reach = a.merge_weights == MergeWeights::unshifted ? std::fabs(lse) : largest - lse;
  return chunk_constant + constant_cost(a, {reach + 2 * (chunk_error + block)}).count;
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
  for (std::size_t j = 0; j < row.paths.size(); ++j) {
    const int chunk = row.paths.chunk[j];
    error[chunk] = std::max(error[chunk], row.own[j] + roundings(row.paths.roundings[j]));
    constant[chunk] = std::max(constant[chunk], row.constant[j]);
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
  for (std::size_t j = 0; j < row.paths.size(); ++j) row.constant[j] += constant[row.paths.chunk[j]];
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
    const int chunk = row.paths.chunk[j];
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
  const auto n = static_cast<double>(row.paths.size());
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
    for (const double entry : row.paths.entry) frame = std::max(frame, std::fabs(entry));
    row.preconditions.push_back(head_room(a, {frame}, n));
  }
  // Unshifted, a sum in range keeps lse within it: beyond range the form fails and has no excuse here.
  if (a.ending == Ending::division_free && a.reduction != Reduction::unshifted) {
    row.preconditions.push_back({"weights e^(x - lse) below the f32 range: log of the largest",
                                 row.lse.total() + row.lse_last + frame_cost(a, {std::fabs(row.weights.lse)}).count,
                                 kLogF32Max});
  }
}

/// Exponents that telescope, in the frame of the maximum: README.md, section 1.
void charge_paths(SoftmaxRow& row, const Arithmetic& a) {
  const SoftmaxPaths& paths = row.paths;
  Leaves& leaves = row.model.leaves;
  const auto n = static_cast<std::int64_t>(paths.size());
  for (auto* list : {&row.own, &row.constant}) list->resize(paths.size());
  const ArgumentCosts argument(a, {});
  const double error = 2 * a.exp_error;
  const PathCosts costs = {.max = paths.max,
                           .entry_gap = argument.gap,
                           .entry_rest = argument.rest + exponential_cost(a).count,
                           .constant = constant_cost(a, {1}).count,
                           .slope = exponent_slope(a) + 0x1p-50,
                           .exponential = -std::log1p(-a.exp_error),  // without the slack
                           .deepest = kLogMinNormal - 0x1p-20,
                           .lost = exp_underflow(a),
                           .error = error};
  const PathKeys keys = {.x = paths.x.data(),
                         .entry = paths.entry.data(),
                         .rescales = paths.rescales.data(),
                         .roundings = paths.roundings.data(),
                         .own = row.own.data(),
                         .constant = row.constant.data(),
                         .exponent = leaves.exponent.data(),
                         .lost = leaves.lost.data(),
                         .denominator = leaves.denominator.data(),
                         .own_of_sum = leaves.own.data()};
  const bool small = error * (1 + std::ranges::max(paths.rescales)) <= kSmallLog;
  const std::int64_t first = kernels::supported() && small ? n / 8 * 8 : 0;  // of what the vectors do not do
  if (first > 0) kernels::charge_keys(costs, keys, first);
  for (std::int64_t j = first; j < n; ++j) charge_key(costs, keys, j);
}

/// Chunks on their own, frames that round, and e^x of x itself.
void charge_other_paths(SoftmaxRow& row, const Arithmetic& a) {
  const SoftmaxPaths& paths = row.paths;
  Leaves& leaves = row.model.leaves;
  const bool alone = !paths.chunks.empty();
  const auto n = static_cast<double>(leaves.size());
  const double lost_unit = alone ? n * row.unit : row.unit;  // the frame may be ln n above the maximum
  const double deepest = kLogMinNormal - 0x1p-10 - (alone ? std::log(n) : 0) - frame_cost(a, {paths.max}).count;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const int exact = static_cast<int>(paths.x[j] == paths.entry[j] && !rounds_frame(a));
    const int exps = 1 - exact + paths.rescales[j] + static_cast<int>(alone);
    leaves.denominator[j] = roundings(paths.roundings[j] + (alone ? paths.chunks[paths.chunk[j]].roundings : 0));
    leaves.exponent[j] = row.own[j] + rescale_cost(paths, j, a) + (alone ? row.block[paths.chunk[j]] : 0);
    const double path = is_unshifted(a) ? std::max(-paths.x[j], 0.0) : paths.max - paths.x[j];
    if (path + leaves.exponent[j] > deepest) {
      leaves.lost[j] = exps * exp_underflow(a) * std::exp(std::min(2 * leaves.exponent[j], 700.0)) * lost_unit;
    }
  }
}

/// What depends on all of a row's keys.
void sum_up(SoftmaxRow& row) {
  RowWeights& weights = row.weights;
  const Leaves& leaves = row.model.leaves;
  row.constant_growth.resize(leaves.size());
  const SummedKeys keys = {.p = weights.p.data(),
                           .q = weights.q.data(),
                           .own_of_sum = leaves.own.data(),
                           .exponent = leaves.exponent.data(),
                           .denominator = leaves.denominator.data(),
                           .constant = row.constant.data(),
                           .constant_growth = row.constant_growth.data()};
  KeySums sums;
  const auto n = static_cast<std::int64_t>(leaves.size());
  const std::int64_t first = kernels::supported() ? n / 8 * 8 : 0;  // of what the vectors do not do
  if (first > 0) kernels::sum_keys(keys, first, sums);
  for (std::int64_t j = first; j < n; ++j) sum_key(keys, j, sums);
  // Every rounding of a sum has at most the whole of it below it: Σ δ² <= u Σ p G.
  weights.denominator_square = row.model.denominator_square = roundings(1) * sums.denominator * kSlack;
  row.shared = sums.shared;
  row.largest_own = sums.largest_own;
  const double mean = sums.constant / weights.low * kSlack;
  row.constant_mean = mean < sums.most_constant ? mean : sums.most_constant;  // mean may be a NaN: 0/0, inf · 0
}

/// `plain`: some weight is 1 for certain; else `combined` is the frame in which chunks are joined, `widest` what a weight
/// errs by at most.
void bound_lse(SoftmaxRow& row, const Arithmetic& a, bool plain, double combined, double widest) {
  row.lse = lse_bound(row.weights, a.log_error, a.log_absolute);
  double log_size = row.weights.log_sum;
  if (!plain) {  // no weight is 1 for certain, and the logarithm may be of another sum than Σ e^{x − m}
    log_size = (std::fabs(row.log_sum + (row.paths.max - (is_unshifted(a) ? 0 : combined))) + row.lse.weights +
                row.lse.denominator + (stands_alone(a) ? widest : 0)) *
               kSlack;
    const double before = row.lse.output;
    row.lse.output = logarithm_cost(a.log_error, a.log_absolute, log_size) * kSlack;
    row.lse.probable = std::min(std::max(0.0, row.lse.probable - before) * kSlack + row.lse.output, row.lse.total());
  }
  row.largest_sum = std::exp(std::min(
      (is_unshifted(a) ? row.weights.lse : std::log(static_cast<double>(row.model.leaves.size())) + row.model.common) +
          row.lse.weights + row.lse.denominator,
      700.0));
  const double magnitude = std::fabs(row.weights.lse) + row.lse.total();
  row.lse_last = is_unshifted(a) ? 0 : sum_cost(magnitude, log_size + row.lse.output);
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
  leaves.key = row.paths.column;
  leaves.score = row.paths.x;
  leaves.resize(row.paths.size());
  model.frame = frame_of(leaves);
  const auto n = static_cast<double>(leaves.size());
  const double max = row.paths.max;

  const bool plain = !stands_alone(a) && !is_unshifted(a) && !rounds_frame(a);
  row.shifted = !is_unshifted(a);
  // Of a chunk, an exponential may be lost in units of its own frame, at most that of the row.
  const double least_unit = stands_alone(a) ? 0 : -std::numeric_limits<double>::infinity();
  row.unit = is_unshifted(a) ? std::exp(std::clamp(-max, least_unit, 700.0)) : 1;
  double widest = 0, combined = max;
  if (plain) {
    charge_paths(row, a);
    row.block.assign(1, 0.0);
  } else {
    const std::vector<double> alone = charge_entries(row, a);
    combined = charge_blocks(row, a);
    charge_other_paths(row, a);
    for (std::size_t j = 0; j < leaves.size(); ++j) leaves.own[j] = std::min(alone[j], leaves.exponent[j]);
    widest = std::ranges::max(leaves.exponent);
    model.frame.pivot = -1;  // no weight is 1 for certain: the largest is e^−widest at least
    model.frame.error = 0;
    model.frame.pivot_error = 0;
    model.lead = widest;
    model.common = is_unshifted(a) ? 0 : frame_cost(a, {stands_alone(a) ? combined : max}).count;
  }
  // A rescaling product per column and two per lane in the tree, or two per chunk, may underflow.
  const double products = a.reduction == Reduction::chunked_local ? 2.0 * n : n + 2.0 * lanes;
  model.denominator_underflow = underflow_of(a, products, products) * row.unit * later(3 * n);
  row.weights = perturbed_weights(model);
  row.log_sum = std::log(sum_of_weights(leaves.score, max));
  sum_up(row);
  share_out(row);

  bound_lse(row, a, plain, combined, widest);
  require_domain(row, a);
  return row;
}

}  // namespace flashproof::bound
