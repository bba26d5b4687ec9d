// Gradients against their truth and bound: judge.h's decide(), element by element, for dq, dk and dv. The truth of a
// gradient is as narrow as it gets before anybody judges (backward_truth()), so nothing climbs.
#pragma once

#include <cstdint>

#include "reference/bound/backward/bound.h"
#include "reference/error/contract.h"
#include "reference/error/element.h"
#include "reference/error/error_stats.h"
#include "reference/error/verdict.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/problem/backward.h"

namespace flashproof {

inline constexpr Part kGradientParts[] = {Part::dq, Part::dk, Part::dv};

/// A kernel's output beside what it is judged by. All three fit together, and outlive this.
struct JudgedGradients {
  const Gradients& gradients;
  const BackwardTruth& truth;
  const BackwardBound& bound;

  const Tensor& tensor(Part part) const;
  std::int64_t count(Part part) const { return tensor(part).elements(); }
  /// index is row-major.
  Element element(Part part, std::int64_t index) const;
};

/// decide(), and one rule more. The truth writes a number beyond 2^1000 (e^(s − lse) of an lse that is far off) as the one
/// infinity it belongs to. Outside the domain it is judged as the number that it is: inf, NaN, or a value within an
/// infinite bound is out_of_domain. An infinity that special values make is listed beside the other one and NaN.
Decision decide_gradient(const Element& element, const Contract& contract);

struct GradientJudgement {
  Verdict worst;  // over the three, by combine(); its detail describes the first such element
  ErrorStats dq, dk, dv;

  const ErrorStats& stats(Part part) const { return part == Part::dq ? dq : part == Part::dk ? dk : dv; }
  ErrorStats& stats(Part part) { return part == Part::dq ? dq : part == Part::dk ? dk : dv; }
};

/// No elements: pass. Throws std::logic_error if the sizes differ.
GradientJudgement judge(const JudgedGradients& judged, const Contract& contract, std::uint64_t case_index);

}  // namespace flashproof
