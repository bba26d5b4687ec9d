// Declared semantics between Python and reference/error/semantics/semantics_json.h.
#pragma once

#include <string>

#include "python/bindings/door.h"
#include "reference/error/semantics/semantics.h"
#include "reference/problem/problems.h"

namespace flashproof::python {

/// `text`: JSON, or empty: the reference's. Throws UsageError.
Semantics semantics_named(const std::string& text, ProblemKind problem);
/// Of "semantics" and "problem": what differs from the reference's, in words.
void semantics_in_words(const Json& request, const Python& python);
/// Of a "problem": names and what they mean, presets, then fields with their legal values.
void semantics_table(const Json& request, const Python& python);

}  // namespace flashproof::python
