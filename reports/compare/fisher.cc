#include "reports/compare/fisher.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace flashproof::compare {

// Given the margins, i of the F failures fall on A with probability C(a, i) C(b, F - i) / C(a + b, F). Neighbours differ by
// a factor of four products, so all are had from the most probable one, here 1, outwards; they fall faster than
// geometrically, and the walk ends where they vanish: some 40 standard deviations away, whatever the number of cases. The p
// value is the sum of those no more probable than the table seen, over the sum of all.
double fisher(std::uint64_t fails_a, std::uint64_t a, std::uint64_t fails_b, std::uint64_t b) {
  const std::uint64_t fails = fails_a + fails_b;
  if (a == 0 || b == 0 || fails == 0 || fails == a + b) return 1;
  const double n = static_cast<double>(a), m = static_cast<double>(b), f = static_cast<double>(fails);
  const double least = std::max(0.0, f - m), most = std::min(f, n), seen = static_cast<double>(fails_a);
  /// P(i + 1) / P(i)
  const auto step = [&](double i) { return (n - i) / (i + 1) * ((f - i) / (m - f + i + 1)); };
  const double mode = std::clamp(std::floor((f + 1) * (n + 1) / (n + m + 2)), least, most);
  constexpr double kVanished = 1e-300;
  std::vector<double> all = {1};
  double here = seen == mode ? 1 : 0;
  const auto take = [&](double i, double weight) {
    all.push_back(weight);
    if (i == seen) here = weight;
  };
  double weight = 1;
  for (double i = mode; i < most && weight > kVanished; ++i) take(i + 1, weight *= step(i));
  weight = 1;
  for (double i = mode; i > least && weight > kVanished; --i) take(i - 1, weight /= step(i - 1));
  std::ranges::sort(all);  // the smallest first: the sum of a tail keeps its digits
  double tail = 0, sum = 0;
  for (const double one : all) {
    sum += one;
    if (one <= here * (1 + 1e-7)) tail = sum;  // 1e-7: equal tables whose probabilities were rounded apart (R's factor)
  }
  return std::min(1.0, tail / sum);
}

}  // namespace flashproof::compare
