#include "reports/compare/intervals.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <map>
#include <stdexcept>
#include <utility>

namespace flashproof::compare {
namespace {

/// 1-based from below, and as many from above: `values` sorted.
void take(RatioInterval& interval, const std::vector<double>& values, std::size_t k) {
  interval.possible = k > 0;
  if (!interval.possible) return;
  interval.lower = values[k - 1];
  interval.upper = values[values.size() - k];
}

std::vector<double> ratios_of(const std::vector<double>& base, const std::vector<double>& head) {
  std::vector<double> all;
  all.reserve(base.size() * head.size());
  for (const double x : base) {
    for (const double y : head) all.push_back(y / x);
  }
  std::ranges::sort(all);
  return all;
}

/// The largest k with 2 P(U <= k - 1) <= alpha; 0 if there is none.
std::size_t rank_cut(std::size_t n, std::size_t m, double alpha) {
  const std::vector<double>& law = rank_law(n, m);
  std::size_t k = 0;
  while (k < law.size() && 2 * law[k] <= alpha) ++k;
  return k;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("the median of nothing");
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The largest of n + m values in random order is one of the n with probability n / (n + m); then it exceeds all m others'
// and U is m more than that of the rest: P(n, m, u) = n P(n-1, m, u-m) / (n+m) + m P(n, m-1, u) / (n+m), P(0, m, 0) =
// P(n, 0, 0) = 1. Only sums of positive terms, so the relative error stays below (n + m) 2^-52.
const std::vector<double>& rank_law(std::size_t n, std::size_t m) {
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> known;
  const auto found = known.find({n, m});
  if (found != known.end()) return found->second;
  const std::size_t top = n * m / 2 + 1;  // the law is symmetric: more is never asked for
  std::vector<std::vector<double>> row(m + 1, std::vector<double>(top, 0.0));
  for (auto& start : row) start[0] = 1;  // n = 0
  for (std::size_t i = 1; i <= n; ++i) {
    // In place: row[j] is P(i-1, j, .) before and P(i, j, .) after. row[0] stays: P(i, 0, 0) = 1.
    for (std::size_t j = 1; j <= m; ++j) {
      const double all = static_cast<double>(i + j);
      for (std::size_t u = top; u-- > 0;) {
        const double above = u >= j ? static_cast<double>(i) * row[j][u - j] : 0.0;
        row[j][u] = (above + static_cast<double>(j) * row[j - 1][u]) / all;
      }
    }
  }
  std::vector<double> law = std::move(row[m]);
  for (std::size_t u = 1; u < law.size(); ++u) law[u] += law[u - 1];
  return known.emplace(std::pair(n, m), std::move(law)).first->second;
}

double coin_law(std::size_t n, std::size_t k) {
  if (k >= n) return 1;
  return cdf(boost::math::binomial_distribution<double>(static_cast<double>(n), 0.5), static_cast<double>(k));
}

// U = the number of pairs with y_j / x_i < theta. If Y / theta and X have one continuous law, every order of the n + m
// values is equally likely, so U has rank_law(). With D the sorted ratios, D_(k) > theta iff U < k, and D_(nm+1-k) < theta
// iff U > nm - k, of the same probability. So [D_(k), D_(nm+1-k)] misses theta with probability 2 P(U <= k - 1) <= alpha.
// Ties (times are rounded by the clock) only let the closed interval cover more often.
RatioInterval unpaired_interval(const std::vector<double>& base, const std::vector<double>& head, double alpha) {
  const std::vector<double> all = ratios_of(base, head);
  RatioInterval interval;
  interval.ratio = median(all);
  take(interval, all, rank_cut(base.size(), head.size(), alpha));
  if (interval.possible) return interval;
  // P(U = 0) = 1 / C(2n, n) for n of each: C(2n, n) = C(2n-2, n-1) (2n)(2n-1) / n^2.
  double orders = 1;
  while (2 / orders > alpha) {
    ++interval.needed;
    const auto n = static_cast<double>(interval.needed);
    orders *= 2 * n * (2 * n - 1) / (n * n);
  }
  return interval;
}

// The number of rounds whose ratio is below its median theta has the law of n coins (at most, where some equal theta: then
// the closed interval covers it the more). D_(k) > theta iff fewer than k are at or below it: probability P(B <= k - 1);
// above alike. So [D_(k), D_(n+1-k)] misses theta with probability at most 2 P(B <= k - 1) <= alpha.
RatioInterval paired_interval(std::vector<double> ratios, double alpha) {
  RatioInterval interval;
  interval.ratio = median(ratios);
  std::ranges::sort(ratios);
  std::size_t k = 0;
  while (2 * (k + 1) <= ratios.size() && 2 * coin_law(ratios.size(), k) <= alpha) ++k;
  take(interval, ratios, k);
  if (interval.possible) return interval;
  for (double p = 1; 2 * p > alpha; p /= 2) ++interval.needed;  // 2 P(B = 0) = 2^(1-n)
  return interval;
}

bool drifts(const std::vector<double>& times, double alpha) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  const std::vector<double> first(times.begin(), middle), second(middle, times.end());
  if (first.empty()) return false;
  const RatioInterval halves = unpaired_interval(first, second, alpha);
  return halves.possible && (halves.lower > 1 || halves.upper < 1);
}

}  // namespace flashproof::compare
