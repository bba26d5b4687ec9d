// One output element in words: what it should be, how far it may be off and by whose fault, and what would lower that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "properties/laws/law.h"

namespace flashproof {

struct ElementChoice {
  Part part = Part::o;
  std::int64_t row = 0, column = 0;  // column 0 for lse
};

/// "o:ROW,COLUMN" or "lse:ROW"; of a gradient "dq:ROW,COLUMN", dk and dv likewise, where a row is one of all axes but the last.
/// Throws UsageError that names what is wrong and the legal range.
ElementChoice parse_element(std::string_view text, const Problem& problem);

/// The element with the largest error/bound; where nothing finite was measured, the first that failed, else the first.
/// Throws UsageError if the case has no output element.
ElementChoice worst_element(const Evaluation& evaluation);

/// What this part of the bound pays for, in one sentence without a full stop. `term`: weights, numerator, denominator,
/// output.
std::string_view paid_for(std::string_view term, Part part, ProblemKind problem);

/// Lines of text, each ended.
std::string explain_text(const Evaluation& evaluation, Executor executor, const ElementChoice& choice);

}  // namespace flashproof
