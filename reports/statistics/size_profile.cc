#include "reports/statistics/size_profile.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "reference/error/error_stats.h"

namespace flashproof {
namespace {

/// To four digits, more than any plot shows: a report has a hundred thousand points. Rounding is monotone, so maxima of rounded
/// values are the rounded maxima, and records merge as if they had been one.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

void merge_axis(ProfileAxis& to, const ProfileAxis& from) {
  for (const auto& [octave, point] : from) to[octave].merge(point);
}

}  // namespace

int octave_of(double size) { return size > 0 ? std::ilogb(size) : kZeroOctave; }

double edge_of(int octave) { return octave == kZeroOctave ? 0 : std::ldexp(1.0, octave); }

void ProfilePoint::merge(const ProfilePoint& other) {
  cases += other.cases;
  max_ratio = worse(max_ratio, other.max_ratio);
  max_ulp = worse(max_ulp, other.max_ulp);
}

void SizeProfile::add(const CaseSizes& sizes, double max_ratio, double max_ulp) {
  const ProfilePoint point{1, rounded(max_ratio), rounded(max_ulp)};
  length[octave_of(sizes.length)].merge(point);
  magnitude[octave_of(sizes.magnitude)].merge(point);
  merges[octave_of(sizes.merges)].merge(point);
}

void SizeProfile::merge(const SizeProfile& other) {
  merge_axis(length, other.length);
  merge_axis(magnitude, other.magnitude);
  merge_axis(merges, other.merges);
}

}  // namespace flashproof
