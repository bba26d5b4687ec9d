// Trivial answers: what a kernel could return without having computed anything, and how far each exact value is from the
// nearest one that would be wrong. A test that such an answer survives has decided nothing (power.h).
//
//   every output        0, 1
//   o of softmax        x copied; every visible column alike (1/n); 1 is the largest weight, 0 the least
//   o of a merge        one state copied; all states weighted alike; the least and the largest of the states
//   o of attention      q copied; the mean of the visible v; the least and the largest visible v
//   lse                 the largest score alone, without the sum; ln 2 more or less: twice or half the sum of weights
//   dq, dk, dv          q, k, v copied
//
// An answer is wrong if its distance to the exact value is more than half a unit in the last place and the radius: a right
// answer that happens to be trivial (one visible key: o is its v) takes nothing from the test. NaN and the infinities are no
// numbers: power.h asks for them by class.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "reference/error/element.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

enum class Trivial : std::uint8_t { zero, one, copy, uniform, extreme, maximum, twice };
inline constexpr std::size_t kTrivials = 7;
/// As it stands in a sentence: "0", "uniform weights", "the largest score alone", ...
std::string_view name(Trivial answer);

/// distance: from the exact value to the nearest wrong trivial answer, less the radius; rounded, so good to some units of
/// 2^-50 of the larger of the two. +inf where the truth is no single number.
struct TrivialGap {
  double distance = std::numeric_limits<double>::infinity();
  Trivial nearest = Trivial::zero;
  bool right = false;  // some trivial answer is the right one

  /// Another answer to the same element. Not finite: ignored.
  void consider(Trivial answer, double value, const Ball& truth, double half_ulp) {
    const double apart = std::fabs(signed_error(value, truth)) - truth.radius;
    right = right || apart <= half_ulp;
    if (!(apart > half_ulp) || !(apart < distance)) return;  // right, NaN or infinite, or not the nearest
    distance = apart;
    nearest = answer;
  }
};

/// As the balls of Truth.
struct TrivialGaps {
  std::vector<TrivialGap> o = {}, lse = {}, dq = {}, dk = {}, dv = {};

  const std::vector<TrivialGap>& operator[](Part part) const {
    static constexpr std::vector<TrivialGap> TrivialGaps::* kParts[kPartCount] = {
        &TrivialGaps::o, &TrivialGaps::lse, &TrivialGaps::dq, &TrivialGaps::dk, &TrivialGaps::dv};
    return this->*kParts[static_cast<std::size_t>(part)];
  }
};
/// `truth` is that of `problem`, which must be valid.
TrivialGaps trivial_gaps(const Problem& problem, const Truth& truth);

}  // namespace flashproof
