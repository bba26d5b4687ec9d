// Output against truth and bound, element by element, through the output rounding.
//
//   1. Class first, before any arithmetic. An inf or NaN that the truth lists is right. A finite value where the truth
//      lists NaN but no finite value is laundering; any other class that is not listed is class_mismatch.
//   2. Where a finite value is right: accept ŷ iff ŷ ∈ [RN(o − B'), RN(o + B')], B' the bound without the last
//      rounding, RN into the storage format with the contract's overflow. The test is positive: what is not shown
//      acceptable is not accepted, so NaN never passes. An end may round to inf; then inf is acceptable.
//   3. The truth's radius r favours nobody: acceptable for every o in the ball passes, for none fails, else
//      inconclusive.
//   4. A row outside the domain (bound.h) may answer a finite truth with inf, NaN or a value inside the bound:
//      out_of_domain. A finite value outside is silently_wrong.
//   5. What passed by 2 is vacuous if B' >= range/2 or B' is infinite: then nothing was tested. B' = 0 (a symbolic
//      answer such as the zeros of an empty row) tests exactly and is never vacuous.
#pragma once

#include <cstdint>

#include "reference/bound/bound.h"
#include "reference/error/contract.h"
#include "reference/error/element.h"
#include "reference/error/error_stats.h"
#include "reference/error/verdict.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// One element: `bits` in `format`. `range` as in Bound, +inf for "never vacuous" (lse). The detail names the rule that
/// decided; describe() (element.h) has the numbers.
Verdict judge_element(Format format, std::uint64_t bits, const Ball& truth, const ElementBound& bound, double range,
                      bool in_domain, const Contract& contract);
Verdict judge_element(const Element& element, const Contract& contract);

struct Judgement {
  Verdict worst;  // over o and lse, by combine(); its detail describes the first such element
  ErrorStats o;
  ErrorStats lse;
};

/// Judges every element of o and lse. `case_index` goes into the witnesses. Unwritten poison is the law's business,
/// here it is a NaN like any other. No elements (rows = 0): pass, as semantics has it: an empty output is a success.
Judgement judge(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                std::uint64_t case_index);

}  // namespace flashproof
