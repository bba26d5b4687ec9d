// How the worst errors of a record depend on the sizes of its cases: counts and maxima per octave, a commutative monoid.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reports/run/case_sizes.h"

namespace flashproof {

/// floor(log2 size); kZeroOctave for 0. Size finite, >= 0.
int octave_of(double size);
/// Its lower edge: 2^octave, or 0.
double edge_of(int octave);
inline constexpr int kZeroOctave = -2000;  // below that of any double

/// The cases of one octave. NaN is the worst maximum, as in ErrorStats.
struct ProfilePoint {
  std::uint64_t cases = 0;
  double max_ratio = 0, max_ulp = 0;

  void merge(const ProfilePoint& other);
};

using ProfileAxis = std::map<int, ProfilePoint>;  // by octave; only those that occur

struct SizeProfile {
  ProfileAxis length, magnitude, merges;

  /// One case that was judged.
  void add(const CaseSizes& sizes, double max_ratio, double max_ulp);
  void merge(const SizeProfile& other);
};

}  // namespace flashproof
