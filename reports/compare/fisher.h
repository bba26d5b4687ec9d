// Does one of two fail more often, where both ran cases of their own?
#pragma once

#include <cstdint>

namespace flashproof::compare {

/// Fisher's exact test, two-sided: `fails_a` of `a` cases against `fails_b` of `b`. Up to 1e9 cases on each side in some
/// milliseconds; below 1e-300 it may say 0.
double fisher(std::uint64_t fails_a, std::uint64_t a, std::uint64_t fails_b, std::uint64_t b);

}  // namespace flashproof::compare
