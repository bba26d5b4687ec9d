#include "reports/statistics/size_profile.h"

#include <cmath>

#include "reference/error/error_stats.h"
#include "reports/statistics/rounded.h"

namespace flashproof {
namespace {

/// More than any plot shows: a report has a hundred thousand points. Records still merge as if they had been one.
constexpr int kDigits = 4;

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
  const ProfilePoint point{1, rounded(max_ratio, kDigits), rounded(max_ulp, kDigits)};
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
