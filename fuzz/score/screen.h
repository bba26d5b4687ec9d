// What a fuzzer wants of an output, in one pass: judge() without the statistics that only reports read, and peaks().
//
// Contract. For the same arguments
//
//   screen(...).judgement.worst, climbed_o, climbed_lse   are those of judge(), to the bit and the letter
//   ... .o and .lse: elements, verdicts, failures, classes, finite_elements, investigate   are those of judge(); the rest
//       of ErrorStats (sums, maxima, witnesses, octaves, bias) stays empty: no judging law reads it (law.h)
//   screen(...).peaks                                     are peaks() with that judgement, to the bit
//
// Why. Most elements are clearly right, and for these no Decision, no Element and no division is needed.
//
//   1. An element is *clear* if its truth lists finite and nothing else, its row and column are in the domain (in the
//      form's too where the contract refuses beyond it), its bound is not vacuous and surely_inside() holds of the probable
//      bound. These are word by word the conditions of decide()'s quick test, so decide() returns {}: pass, no failure,
//      nothing to investigate; an element that passes does not climb. surely_inside() is false of anything but a finite
//      number, and of a radius that is not finite beside a bound that is (one that is not vacuous is below range/2): so a
//      clear element counts as finite_elements. One that is not clear gets settle(), which is what judge() calls.
//   2. A pass is the worst so far if it is the first element, or if what was worst before weighs less than a pass: the rule
//      of outweighs().
//   3. can_represent() of a clear element: finite truth, value and radius and the domain hold by 1; its bound is 0, or below range/2
//      because it is not vacuous. So it can represent a term iff its bound is above 0. It did not fail, so peaks() counts it.
//   4. peaks() replaces a term's peak P where ratio = RN(x/a) > P: x = max(|error| − radius, 0), a = what is allowed. Let
//      t = RN(RN(P a)(1 − 2^-50)). Where RN(P a) >= 2^-1000 it is at most P a (1 + 2^-53), so that t <= P a (1 + 2^-53)^2
//      (1 − 2^-50) < P a. If x <= t, then x/a < P and RN(x/a) <= P, RN being monotone and P a double: no replacement, and no
//      division. (a = inf: t = inf, and 0 is not above P.) Below 2^-1000 only x = 0 needs no division: 0/a = 0 is above P
//      only where there is no peak yet, P = −1, and then t is below 0.
//      The error itself is asked for only where more is: |error| as signed_error() rounds it, two roundings and two steps away from
//      zero, is at most RN(RN(|RN(c − hi)| + |lo|)(1 + 2^-49)) or, among the smallest numbers, 2^-1072 more, and neither is above t
//      >= 2^-1001 where that bound is not.
//
// screen_test.cc compares both paths on every family, kernel and seeded fault.
#pragma once

#include "fuzz/score/terms.h"
#include "reference/error/judge.h"

namespace flashproof {

struct Screened {
  Judgement judgement;
  Peaks peaks;
};

Screened screen(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                const NextTier& next = {});

}  // namespace flashproof
