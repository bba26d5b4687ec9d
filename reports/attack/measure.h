// How much of its bound each term's errors use: the figures of the ledger.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/registry.h"
#include "reference/error/element.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// A part of the bound of one tensor. `output` includes the rounding into the storage format, so that the terms add up to
/// what the error may be (bound_with_rounding). lse has no numerator.
enum class Term : std::uint8_t {
  o_weights,
  o_numerator,
  o_denominator,
  o_output,
  lse_weights,
  lse_denominator,
  lse_output
};
inline constexpr std::size_t kTerms = 7;
std::string_view name(Term term);  // "o.weights", ...
/// Throws UsageError that lists the legal names.
Term parse_term(std::string_view name);

inline constexpr double kDominates = 0.8;  // share of the bound from which on an element speaks for a term

/// The element that speaks for a term: of those of which it is at least kDominates of the bound the one with the largest
/// error/bound, else the one with the largest share.
struct TermBest {
  double ratio = 0;  // (error − radius of the truth) / bound
  double share = 0;
  std::int64_t row = 0, column = 0;
  std::uint64_t bits = 0;  // computed

  bool dominates() const { return share >= kDominates; }
  bool better_than(const TermBest& other) const {
    if (dominates() != other.dominates()) return dominates();
    return dominates() ? ratio > other.ratio : share > other.share;
  }
};

struct Measurement {
  std::array<TermBest, kTerms> best;  // by Term; share 0: the term does not occur
  std::string violation;              // a finite result outside its bound: describes it; empty if there is none
};

enum class Precision : std::uint8_t {
  search,  // the truth as it comes: its radius is subtracted from the error
  record,  // every best element's truth is narrowed until its radius is below 2^-40 of the error, or no tier is left
};

/// Runs the kernel on the CPU executor. Elements that are not finite, out of domain, vacuous, or failed do not speak for
/// any term. Throws what flashproof::run and compute_bound throw.
Measurement measure(const Kernel& kernel, const Problem& problem, Precision precision);

}  // namespace flashproof
