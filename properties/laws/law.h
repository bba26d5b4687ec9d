// A law: a pure function (case, kernel) -> verdict. The Evaluation carries what several laws share, so that one run and
// one truth serve all of them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/registry.h"
#include "kernels/run.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/truth.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Evaluation {
  const Kernel& kernel;
  const Case& subject;
  const Output& output;
  const Truth& truth;
  const Bound& bound;
  const Judgement& judgement;  // judge() of the above

  /// With the ball that decided it.
  Element element(Part part, std::int64_t index) const {
    return judged_element(output, truth, bound, judgement, part, index);
  }
};

struct Law {
  std::string_view name;
  std::string_view summary;
  /// A failing verdict's detail is one line: element, computed and exact value, error, bound with its four terms.
  Verdict (*check)(const Evaluation& evaluation);
  /// Broken kernels it must reject on at least one case of the default families (teeth; asserted by a test).
  std::span<const std::string_view> must_reject;
};

/// Every law, in the order of the report. A new law: one file, one line in list.h and laws.cc each.
std::span<const Law> laws();
/// Null if there is none of that name.
const Law* find_law(std::string_view name);

}  // namespace flashproof
