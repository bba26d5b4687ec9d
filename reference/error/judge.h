// Output against truth and bound, element by element, through the output rounding.
//
//   1. Class first, before any arithmetic. An inf or NaN that the truth lists is right. A finite value where the truth
//      lists NaN but no finite value is laundering; any other class that is not listed is class_mismatch.
//   2. Where a finite value is right: accept ŷ iff ŷ ∈ [RN(o − B'), RN(o + B')], B' the bound without the last
//      rounding, RN into the storage format with the contract's overflow. The test is positive: what is not shown
//      acceptable is not accepted, so NaN never passes. An end may round to inf; then inf is acceptable.
//   3. The truth's radius r favours neither verdict: acceptable for every o in the ball passes, for none fails. Where that is
//      open, the element is judged again with the row from the oracle's next tier, until it is decided or the tiers
//      are exhausted: then it is inconclusive. Statistics use the ball that decided. Every element climbs for itself,
//      so a judgement does not depend on what else was judged.
//   4. A row outside the domain (bound.h) may answer a finite truth with inf, NaN or a value inside the bound, and ±inf
//      with NaN: out_of_domain. A finite value outside is silently_wrong. So does a row beyond the range of an
//      un-stabilised form (RowDomain::form), if the contract says that the kernel refuses those; else such a row is in the domain.
//   5. What passed by 2 is vacuous if B' >= range/2 or B' is infinite: then nothing was tested. B' = 0 (a symbolic
//      answer such as the zeros of an empty row) tests exactly and is never vacuous.
//   6. A finite answer that is in its domain and passed by 2, vacuous or not, is judged a second time against the
//      probable bound P <= B' (ElementBound::probable), where that says anything (P < range/2): certainly outside
//      [RN(o − P), RN(o + P)] sets Decision::investigate. The verdict stays what it was, because P is a statement about
//      chance (README.md). The radius only ever acquits here: no tier is climbed for it.
//   7. Of a gradient one rule more, before the others. The truth writes a number beyond 2^1000 (e^(s − lse) of an lse that
//      is far off) as the one infinity it belongs to. Outside the domain it is judged as the number that it is: inf, NaN,
//      or a value within an infinite bound is out_of_domain. An infinity that special values make is listed beside the
//      other one and NaN.
//   8. An element of which the kernel declares nothing (kUnspecified) passes, and is not decided (power.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "reference/bound/bound.h"
#include "reference/error/contract.h"
#include "reference/error/element.h"
#include "reference/error/error_stats.h"
#include "reference/error/verdict.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

class Oracle;

/// Whether the kernel returns this part of an output, so that there is something to judge. Gradients come all three.
inline bool returned(const Contract& contract, Part part) {
  return (part != Part::o || contract.returns != Returns::lse) && (part != Part::lse || contract.returns != Returns::o);
}

/// One element against its ball. `why` names the rule that decided; describe() (element.h) has the numbers.
Decision decide(const Element& element, const Contract& contract);

struct Judgement {
  Verdict worst;                  // over the parts, by combine(); its detail describes the first such element
  ErrorStats o, lse, dq, dk, dv;  // of gradients without the bias statistic
  // Of the elements that the truth left open: the ball that decided, or the last one. By index.
  std::map<std::int64_t, Ball> climbed_o, climbed_lse;

  const ErrorStats& operator[](Part part) const {
    static constexpr ErrorStats Judgement::* kParts[kPartCount] = {&Judgement::o, &Judgement::lse, &Judgement::dq,
                                                                   &Judgement::dk, &Judgement::dv};
    return this->*kParts[static_cast<std::size_t>(part)];
  }
  ErrorStats& operator[](Part part) { return const_cast<ErrorStats&>(std::as_const(*this)[part]); }
};

/// The row one tier further up (Oracle::row): level 1 follows the truth. Null when there is none. What it points to need
/// not outlive the next call.
using NextTier = std::function<const RowBalls*(std::int64_t row, int level)>;

struct Settled {
  Decision decision;
  bool climbed = false;  // another ball than the first was asked for
};
/// decide(); while that is open because of the radius, again with the ball of the row's next tier. Leaves the last ball in the
/// element.
Settled settle(Element& element, const Contract& contract, const NextTier& next);

/// Of a case without any element that the kernel returns: it executed, and nothing was decided. Such a case is no pass.
inline constexpr Decision kNoElement{
    .kind = VerdictKind::vacuous, .failure = Failure::none, .why = "no output has an element"};

/// Judges every element of every part, of what the contract says the kernel returns. `case_index` goes into the witnesses.
/// Unwritten poison is the law's business, here it is a NaN like any other. The truth of a gradient is as narrow as it gets
/// (backward_truth()): nothing climbs for it. No elements (rows = 0): kNoElement.
Judgement judge(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                std::uint64_t case_index, const NextTier& next = {});
/// With the oracle's truth() and row().
Judgement judge(const Output& output, Oracle& oracle, const Bound& bound, const Contract& contract,
                std::uint64_t case_index);

/// element_at() with the ball that the judgement of the same four was made with.
Element judged_element(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                       Part part, std::int64_t index);

}  // namespace flashproof
