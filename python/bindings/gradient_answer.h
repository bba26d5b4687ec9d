// What a callable answers to one backward problem, judged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "python/bindings/callable_gradient.h"
#include "python/bindings/gradient_records.h"
#include "reference/error/judge.h"
#include "reference/error/power.h"

namespace flashproof::python {

struct GradientAnswer {
  std::optional<Judgement> judgement = {};                  // of the first call; none where it was at fault
  Power power = {};                                         // of `judgement`
  std::array<Verdict, std::size(kGradientLaws)> says = {};  // by GradientLawAsked
  bool at_fault = false;                                    // a call was, and every law says so
};

/// Of a problem that the callable takes. twice: rerun_is_bitwise is asked, too.
GradientAnswer answer_to(CallableGradient& gradient, const BackwardProblem& problem, std::uint64_t seed, bool twice);

}  // namespace flashproof::python
