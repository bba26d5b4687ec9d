// The largest mean Σ w_j x_j / Σ w_j over weights that are known within boxes: the form of the bound that is never
// vacuous where another one is not (README.md, "Boxes").
#pragma once

#include <span>

namespace flashproof::bound {

/// Upper bound of sup Σ w_j x_j / Σ w_j over a_j <= w_j <= b_j, Σ w_j > 0, attained but for rounding: within 2^-40 of
/// max |x_j| above it. All of one length >= 1; x_j finite, 0 <= a_j <= b_j, b_j may be +inf, some b_j > 0.
double largest_mean(std::span<const double> x, std::span<const double> a, std::span<const double> b);

/// Lower bound of the infimum, likewise.
double smallest_mean(std::span<const double> x, std::span<const double> a, std::span<const double> b);

}  // namespace flashproof::bound
