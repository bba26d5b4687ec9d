// The special values of double, by name.
#pragma once

#include <limits>

namespace flashproof {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace flashproof
