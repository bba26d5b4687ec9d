// Figures that are shown or kept to a few digits.
#pragma once

#include <fmt/format.h>

#include <cstdlib>

namespace flashproof {

/// To so many significant digits; what is not finite stays. Monotone: maxima of rounded values are the rounded maxima.
inline double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

}  // namespace flashproof
