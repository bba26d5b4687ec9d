// What a number of the scores counts, in its type: a product of queries and keys, a score before and after its softcap, a computed
// score in the unit in which a kernel compares and subtracts it, natural log units, octaves. Only what names both units turns
// one into another: that 2^-126 of a raw score is up to 2 nats, at a scale of 2^127, cannot be overlooked by accident.
#pragma once

#include <cmath>
#include <compare>
#include <numbers>

namespace flashproof::bound {

template <class Unit>
struct Quantity {
  double count = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    count += other.count;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.count + b.count}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.count - b.count}; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return {a.count * factor}; }
  friend Quantity abs(Quantity a) { return {std::fabs(a.count)}; }
};

using Dot = Quantity<struct DotUnit>;            // q·k: neither scaled nor capped
using Uncapped = Quantity<struct UncappedUnit>;  // τ q·k, before a softcap
using Raw = Quantity<struct RawUnit>;   // x̂, as the kernel holds it (ScoreUnit): q·k, tanh(τ q·k/c), or a natural score
using Nats = Quantity<struct NatUnit>;  // s, after the softcap, and differences of such: log units
using Octaves = Quantity<struct OctaveUnit>;  // arguments of exp2

/// How many `To` one `From` is.
template <class To, class From>
struct Rate {
  double factor = 1;

  constexpr To operator()(From x) const { return {factor * x.count}; }
  constexpr From inverse(To x) const { return {x.count / factor}; }
};

constexpr Octaves in_octaves(Nats x) { return {x.count / std::numbers::ln2}; }
constexpr Nats in_nats(Octaves x) { return {x.count * std::numbers::ln2}; }

}  // namespace flashproof::bound
