// How many elements erred by how many ulp, by octaves: all that a report knows of the distribution. A quantile read from it is
// an octave, [2^k, 2^(k+1)), and nothing narrower: where inside an octave its elements lie is not recorded, so nothing is
// interpolated, and a quantile has changed only if its octave has.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "reference/error/error_stats.h"

namespace flashproof {

inline constexpr int kExact = -1000;       // the octave of error 0
inline constexpr int kLowestOctave = -20;  // holds everything below, too
inline constexpr int kHighestOctave = 43;  // holds everything above, too

struct UlpOctaves {
  std::map<int, std::uint64_t> counts;  // octave -> elements; kExact comes first

  std::uint64_t elements() const;
  void merge(const UlpOctaves& other);
  /// The octave of the ceil(q n)-th smallest error, 0 < q <= 1; n > 0.
  int quantile(double q) const;
  /// Elements in this octave and above.
  std::uint64_t from(int octave) const;
  bool operator==(const UlpOctaves&) const = default;
};

/// What a sum over the octaves allows for a mean: between `lower` and `upper` ulp; `upper` is inf if the open top octave is
/// occupied. n > 0.
struct Between {
  double lower, upper;
};
Between mean_ulp(const UlpOctaves& octaves);
/// Of every element that the statistics measured.
UlpOctaves octaves_of(const ErrorStats& stats);

/// "0.21..0.42", ">= 12.0" where nothing limits it.
std::string between_text(const Between& between);

/// "0", "[0.25, 0.5)", "< 1.9e-06", ">= 8.8e+12".
std::string octave_text(int octave);
/// Steps on the ladder of octaves from a to b; from or to an error of 0 counts as from one below the lowest.
int octave_steps(int a, int b);

}  // namespace flashproof
