// Measures on rows of scores. Nothing here is a verdict: plain double, no error is bounded.
#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/generators/difficulty/difficulty_parts.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

double median(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> finite_scores(const ScoreRow& row) {
  std::vector<double> scores;
  for (const double score : row.score) {
    if (std::isfinite(score)) scores.push_back(score);
  }
  return scores;
}

double log_sum(std::span<const double> scores) {
  const double top = scores.empty() ? -kInfinity : *std::ranges::max_element(scores);
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - top);
  return top + std::log(sum);
}

double deviation(const std::vector<double>& scores) {
  double mean = 0, square = 0;
  for (const double score : scores) mean += score / static_cast<double>(scores.size());
  for (const double score : scores) square += (score - mean) * (score - mean);
  return std::sqrt(square / static_cast<double>(scores.size()));
}

/// What all rows give to the medians and shares.
struct RowMeasures {
  std::vector<double> deviations, top_gaps, rising, conditions, cancellations;
  double pairs = 0, hidden = 0, empty = 0, lone = 0, first = 0, middle = 0, last = 0, below = 0;
  double several = 0, falling = 0;  // rows of two chunks and more, those with the maximum in the first
  double sums = 0, one_signed = 0;  // rows and columns
  double nans = 0, infs = 0;
};

void measure_logits(const std::vector<double>& scores, RowMeasures& tally, Difficulty& result) {
  std::vector<double> falling = scores;
  std::ranges::sort(falling, std::greater<>());
  const double top = falling.front();
  result.highest_maximum = std::max(result.highest_maximum, top);
  result.spread = std::max(result.spread, top - falling.back());
  result.largest_logit = std::max({result.largest_logit, std::abs(top), std::abs(falling.back())});
  result.log_sum = std::max(result.log_sum, log_sum(scores));
  result.ties = std::max(result.ties, static_cast<double>(std::ranges::count(scores, top)));
  tally.below += top < -1e4;
  for (const double score : scores) {
    for (const double sentinel : kSentinels) {
      result.sentinel_gap = std::min(result.sentinel_gap, std::abs(score - sentinel) / -sentinel);
    }
  }
  if (scores.size() < 2) return;
  tally.deviations.push_back(deviation(scores));
  tally.top_gaps.push_back((top - falling[1]) / std::max(1.0, std::abs(top)));
}

void measure_keys_in_order(const ScoreRow& row, RowMeasures& tally) {
  double running = -kInfinity, rising = 0, later = 0;
  for (const std::int32_t chunk : row.plan.order) {
    const auto c = static_cast<std::size_t>(chunk);
    for (std::int32_t j = row.plan.boundary[c]; j < row.plan.boundary[c + 1]; ++j) {
      const double score = row.score[static_cast<std::size_t>(j)];
      if (!std::isfinite(score)) continue;
      if (running > -kInfinity) {
        later += 1;
        rising += score > running;
      }
      running = std::max(running, score);
    }
  }
  if (later > 0) tally.rising.push_back(rising / later);
}

/// Rises of a frame that moves only for more than `threshold`.
struct LazyFrame {
  double taken = 0, skipped = 0, below = kInfinity, above = kInfinity;
};

LazyFrame lazy_frame(std::span<const double> maxima, double threshold) {
  LazyFrame result;
  double frame = -kInfinity;
  for (const double top : maxima) {
    if (!std::isfinite(top)) continue;
    const double rise = top - frame;
    const bool first = frame == -kInfinity;
    if (first || rise > threshold) frame = top;
    if (first || rise <= 0) continue;
    (rise > threshold ? result.taken : result.skipped) += 1;
    double& nearest = rise > threshold ? result.above : result.below;
    nearest = std::min(nearest, std::abs(rise - threshold) / threshold);
  }
  return result;
}

void measure_chunks(const ScoreRow& row, RowMeasures& tally, Difficulty& result) {
  const std::vector<double> maxima = visited_maxima(row);
  const bool seen = row_max(row) > -kInfinity;
  std::vector<double> finite;
  for (const double top : maxima) {
    if (std::isfinite(top)) finite.push_back(top);
  }
  if (seen && maxima.size() > 1) {
    tally.first += maxima.front() == -kInfinity;
    tally.last += maxima.back() == -kInfinity;
    tally.middle += std::any_of(maxima.begin() + 1, maxima.end() - 1, [](double top) { return top == -kInfinity; });
  }
  if (finite.size() > 1) {
    const auto [least, most] = std::ranges::minmax(finite);
    result.block_spread = std::max(result.block_spread, most - least);
    tally.several += 1;
    tally.falling += finite.front() == most;
    double running = finite.front(), rises = 0;
    for (const double top : finite) {
      rises += top > running;
      running = std::max(running, top);
    }
    result.rises = std::max(result.rises, rises);
  }
  const LazyFrame octaves = lazy_frame(maxima, kRescaleThresholds[0]);
  result.rescales_taken = std::max(result.rescales_taken, octaves.taken);
  result.rescales_skipped = std::max(result.rescales_skipped, octaves.skipped);
  for (const double threshold : kRescaleThresholds) {
    const LazyFrame lazy = lazy_frame(maxima, threshold);
    result.threshold_below = std::min(result.threshold_below, lazy.below);
    result.threshold_above = std::min(result.threshold_above, lazy.above);
  }
  double before = -kInfinity;
  for (const std::int32_t chunk : row.plan.order) {
    const auto c = static_cast<std::size_t>(chunk);
    const std::span<const double> all = row.score;
    const double lse = log_sum(all.subspan(static_cast<std::size_t>(row.plan.boundary[c]),
                                           static_cast<std::size_t>(row.plan.boundary[c + 1] - row.plan.boundary[c])));
    if (!std::isfinite(lse)) continue;
    if (before > -kInfinity) result.lse_gap = std::max(result.lse_gap, std::abs(lse - before));
    before = lse;
  }
}

void measure_values(const ScoreRow& row, RowMeasures& tally) {
  const double top = row_max(row);
  bool nan = false, inf = false;
  for (std::size_t j = 0; j < row.score.size(); ++j) {
    nan |= std::isnan(row.score[j]);
    inf |= row.score[j] == kInfinity;
  }
  for (std::int64_t t = 0; t < row.width; ++t) {
    double sum = 0, size = 0;
    int positive = 0, negative = 0;
    for (std::size_t j = 0; j < row.score.size(); ++j) {
      if (row.hidden[j] || row.score[j] == -kInfinity) continue;
      const double v = row.value(static_cast<std::int64_t>(j), t);
      nan |= std::isnan(v);
      inf |= std::isinf(v);
      positive += v > 0;
      negative += v < 0;
      const double weight = std::exp(row.score[j] - top);
      sum += weight * v;
      size += weight * std::abs(v);
    }
    if (!(size > 0) || !std::isfinite(size)) continue;
    tally.sums += 1;
    tally.one_signed += std::min(positive, negative) == 0 && std::max(positive, negative) > 1;
    tally.cancellations.push_back(size / std::abs(sum));
  }
  tally.nans += nan;
  tally.infs += inf;
}

}  // namespace

void measure_rows(std::span<const ScoreRow> rows, Difficulty& result) {
  RowMeasures tally;
  for (const ScoreRow& row : rows) {
    const auto hidden = static_cast<double>(std::ranges::count(row.hidden, true));
    const auto keys = static_cast<double>(row.score.size()) - hidden;
    tally.pairs += static_cast<double>(row.score.size());
    tally.hidden += hidden;
    tally.empty += keys == 0;
    tally.lone += keys == 1;
    result.keys = std::max(result.keys, keys);
    result.saturation = std::max(result.saturation, row.saturation);
    tally.conditions.insert(tally.conditions.end(), row.conditions.begin(), row.conditions.end());
    if (const auto scores = finite_scores(row); !scores.empty()) measure_logits(scores, tally, result);
    measure_keys_in_order(row, tally);
    measure_chunks(row, tally, result);
    measure_values(row, tally);
  }
  const auto n = static_cast<double>(rows.size());
  result.rows = n;
  result.hidden_share = share(tally.hidden, tally.pairs);
  result.empty_rows = share(tally.empty, n);
  result.lone_rows = share(tally.lone, n);
  result.first_hidden = share(tally.first, n);
  result.middle_hidden = share(tally.middle, n);
  result.last_hidden = share(tally.last, n);
  result.below_sentinel = share(tally.below, n);
  result.first_is_max = share(tally.falling, tally.several);
  result.one_signed = share(tally.one_signed, tally.sums);
  result.visible_nans = share(tally.nans, n);
  result.visible_infs = share(tally.infs, n);
  result.deviation = median(tally.deviations, 0);
  result.top_gap = median(tally.top_gaps, kInfinity);
  result.rising_keys = median(tally.rising, 0);
  result.condition = median(tally.conditions, 1);
  result.cancellation = median(tally.cancellations, 1);
}

}  // namespace flashproof
