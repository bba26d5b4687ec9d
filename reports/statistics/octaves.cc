#include "reports/statistics/octaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/views/terminal/text.h"

namespace flashproof {

std::uint64_t UlpOctaves::elements() const {
  std::uint64_t sum = 0;
  for (const auto& [octave, count] : counts) sum += count;
  return sum;
}

void UlpOctaves::merge(const UlpOctaves& other) {
  for (const auto& [octave, count] : other.counts) counts[octave] += count;
}

int UlpOctaves::quantile(double q) const {
  const std::uint64_t n = elements();
  // Counts stay far below 2^53, so the product is off by less than one element in 2^53.
  const auto wanted =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(n))), 1, n);
  std::uint64_t passed = 0;
  for (const auto& [octave, count] : counts) {
    passed += count;
    if (passed >= wanted) return octave;
  }
  return kExact;
}

std::uint64_t UlpOctaves::from(int octave) const {
  std::uint64_t sum = 0;
  for (auto at = counts.lower_bound(octave); at != counts.end(); ++at) sum += at->second;
  return sum;
}

Between mean_ulp(const UlpOctaves& octaves) {
  Between sum{0, 0};
  for (const auto& [octave, count] : octaves.counts) {
    if (octave == kExact || count == 0) continue;
    const auto n = static_cast<double>(count);
    if (octave > kLowestOctave) sum.lower += n * std::ldexp(1.0, octave);
    sum.upper += octave < kHighestOctave ? n * std::ldexp(1.0, octave + 1) : std::numeric_limits<double>::infinity();
  }
  const auto n = static_cast<double>(octaves.elements());
  return {sum.lower / n, sum.upper / n};
}

UlpOctaves octaves_of(const ErrorStats& stats) {
  UlpOctaves octaves;
  for (std::size_t i = 0; i < stats.ulp_octaves.size(); ++i) {
    if (stats.ulp_octaves[i] == 0) continue;
    octaves.counts[i == 0 ? kExact : static_cast<int>(i) + kLeastUlpOctave - 1] = stats.ulp_octaves[i];
  }
  return octaves;
}

std::string between_text(const Between& between) {
  if (!std::isfinite(between.upper)) return ">= " + short_number(between.lower);
  const std::string lower = short_number(between.lower), upper = short_number(between.upper);
  return lower == upper ? lower : lower + ".." + upper;
}

std::string octave_text(int octave) {
  if (octave == kExact) return "0";
  if (octave == kLowestOctave) return fmt::format("< {}", short_number(std::ldexp(1.0, octave + 1)));
  if (octave == kHighestOctave) return fmt::format(">= {}", short_number(std::ldexp(1.0, octave)));
  return fmt::format("[{:g}, {:g})", std::ldexp(1.0, octave), std::ldexp(1.0, octave + 1));
}

int octave_steps(int a, int b) {
  const auto rung = [](int octave) { return std::max(octave, kLowestOctave - 1); };
  return rung(b) - rung(a);
}

}  // namespace flashproof
