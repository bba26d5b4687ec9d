#include "reference/oracle/fp64/row_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flashproof::rows64 {

std::int64_t sum_roundings(std::int64_t n, std::int64_t weighted) {
  if (n <= 0) return 0;
  const auto width = [](std::int64_t x) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(x)));
  };
  const std::int64_t groups = (n + kVirtualLanes - 1) / kVirtualLanes;
  const std::int64_t chain = std::min(groups, kBlock / kVirtualLanes) - 1;
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  // A sum of 2^k blocks has been through k additions; at the end it meets the sums above it, at most
  // width(blocks) − 1 − k, and once those below it.
  const std::int64_t tree = blocks == 1 ? 0 : width(blocks);
  const std::int64_t lanes = width(std::min(n, kVirtualLanes) - 1);
  return std::clamp<std::int64_t>(weighted - 1, 0, chain + tree + lanes);
}

std::int64_t value_roundings(std::int64_t visible, std::int64_t weighted) {
  const std::int64_t others = std::max<std::int64_t>(weighted - 1, 0);
  const std::int64_t later_groups = visible <= kMergeGroup + 1 ? 0 : (visible - 2) / kMergeGroup;
  return std::min(others, kMergeGroup) + std::min(others, later_groups);
}

bool RowSums::has_numbers() const { return !poisoned && !std::isinf(m); }

void RowSums::finish(std::int64_t n, double radius_sum, const SoftmaxTerms& terms) {
  const auto roundings = static_cast<double>(sum_roundings(n, weighted));
  total_radius = (radius_sum + terms.sum * roundings * kUnit * total) * kSlack;
}

Lse RowSums::lse(const SoftmaxTerms& terms) const {
  if (total == 1 && total_radius == 0) return {m, 0};  // one key: log 1
  const LogBall log = certified_log(total, total_radius / total * kSlack, terms.log);
  const double value = m + log.value;
  // TwoSum: what the sum has lost, exactly.
  const double log_part = value - m;
  const double lost = (m - (value - log_part)) + (log.value - log_part);
  return {value, (log.radius + terms.shift * std::fabs(lost)) * kSlack};
}

}  // namespace flashproof::rows64
