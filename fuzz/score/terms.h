// Which part of its bound an element's error uses: the figures that searches climb and the ledger keeps.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/error/element.h"
#include "reference/error/judge.h"

namespace flashproof {

/// A part of the bound of one tensor. `output` includes the rounding into the storage format, so that the terms add up to
/// what the error may be (bound_with_rounding). lse has no numerator, dv no denominator.
enum class Term : std::uint8_t {
  o_weights,
  o_numerator,
  o_denominator,
  o_output,
  lse_weights,
  lse_denominator,
  lse_output,
  dq_weights,
  dq_numerator,
  dq_denominator,
  dq_output,
  dk_weights,
  dk_numerator,
  dk_denominator,
  dk_output,
  dv_weights,
  dv_numerator,
  dv_output
};
inline constexpr std::size_t kTerms = 18;
std::string_view name(Term term);  // "o.weights", ...
Part part_of(Term term);
/// Throws UsageError that lists the legal names.
Term parse_term(std::string_view name);

inline constexpr double kDominates = 0.8;  // share of the bound from which on an element represents a term

/// The element that can represent a term for a term: of those of which it is at least kDominates of the bound the one with the largest
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

/// What an element must be to represent a term: finite, judged inside its domain, its bound not vacuous.
bool can_represent(const Element& element);

using TermBests = std::array<TermBest, kTerms>;  // by Term; share 0: the term does not occur

/// Over all elements that can and did not fail.
TermBests term_bests(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                     const Contract& contract);

/// The worst element of those whose bound is mostly this term: what a fuzzer climbs. Unlike a TermBest every element that
/// that can represent a term belongs to one.
struct Peak {
  double ratio = -1;  // −1: no element
  Part part = Part::o;
  std::int64_t row = 0, column = 0;
};
using Peaks = std::array<Peak, kTerms>;  // by Term
/// Over the same elements as term_bests().
Peaks peaks(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
            const Contract& contract);

/// The term that the element's bound is mostly made of.
Term largest_term(const Element& element);

/// (error − radius of the truth) / bound of one element, `allowed` being its bound_with_rounding().
double term_ratio(const Element& element, double allowed);

}  // namespace flashproof
