#include "reference/error/assumption.h"

#include <array>
#include <cstdint>

#include "reference/error/element.h"

namespace flashproof {
namespace {

constexpr Assumption kScoreDrift = {
    "score_drift", "the matrix unit of q.k cuts toward zero within the drift that its step count predicts"};
constexpr Assumption kStatesIndependent = {
    "joins_independent", "the roundings of lse at the joins are independent: equal states round alike at every join"};
constexpr Assumption kWeightsIndependent = {
    "weights_independent",
    "the weights err independently and either way: equal scores share every rounding, and an exponential whose mean "
    "error is not 0 moves all of a chunk alike"};
constexpr Assumption kStoredIndependent = {
    "stored_weights_independent", "P rounds independently: equal scores make equal P, which all round the same way"};
constexpr Assumption kValuesDrift = {
    "value_drift", "the matrix unit of P.v cuts toward zero within the drift that its step count predicts"};
constexpr Assumption kSumCentred = {
    "sum_centred",
    "the sum of p.v rounds either way: with v of one sign, equal addends or addends below half a unit of the sum "
    "(stagnation) it does not"};
constexpr Assumption kDenominatorCentred = {
    "denominator_centred",
    "the sum of weights rounds either way: equal addends round the same way many times, and those below half a unit of "
    "the sum are lost (stagnation)"};
constexpr Assumption kEndingCentred = {
    "ending_centred", "the last operations round either way: a reciprocal or a logarithm may err one way"};

enum Term : std::uint8_t { kWeights, kNumerator, kDenominator, kOutput };

Term blamed(const ElementBound& b, double error) {
  const std::array<double, 4> term = {b.weights, b.numerator, b.denominator, b.output};
  const double probable = probable_bound(b);
  int able = -1, largest = 0;
  for (int i = 0; i < 4; ++i) {
    if (term[i] > term[largest]) largest = i;
    if (error <= probable + term[i] && (able < 0 || term[i] > term[able])) able = i;
  }
  return static_cast<Term>(able >= 0 ? able : largest);
}

bool merges(Reduction reduction) {
  return reduction == Reduction::pairwise_fold || reduction == Reduction::pairwise_tree || reduction == Reduction::flat;
}

}  // namespace

Assumption likely_broken(const Arithmetic& a, const ElementBound& bound, double error) {
  switch (blamed(bound, error)) {
    case kWeights:
      if (merges(a.reduction)) return kStatesIndependent;
      return a.dot.unit.k > 0 ? kScoreDrift : kWeightsIndependent;
    case kNumerator:
      if (a.weights.format != Format::f32) return kStoredIndependent;
      return a.values.unit.k > 0 ? kValuesDrift : kSumCentred;
    case kDenominator:
      // A denominator that adds the rounded P sees P's roundings, too, but those are in the weights.
      return kDenominatorCentred;
    case kOutput:
      break;
  }
  return kEndingCentred;
}

}  // namespace flashproof
