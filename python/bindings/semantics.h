// Declared semantics between Python and reference/error/semantics_json.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/error/semantics.h"
#include "reference/problem/problems.h"

namespace flashproof::python {

/// `text`: JSON, or empty: the reference's. Throws UsageError.
Semantics semantics_named(const std::string& text, ProblemKind problem);
/// What differs from the reference's, in words.
std::vector<std::string> semantics_in_words(const std::string& text, const std::string& problem);
/// Names and what they mean: presets, then fields with their legal values.
std::vector<std::pair<std::string, std::string>> semantics_table(const std::string& problem);

}  // namespace flashproof::python
