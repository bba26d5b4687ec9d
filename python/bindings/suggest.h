// flashproof.suggest() below its Python half.
#pragma once

#include "python/bindings/door.h"

namespace flashproof::python {

/// Of a callable (callable_kernel.h), "families" (globs; none: all), "seed" of the first case of every family and "cases" per family: {"found",
/// "semantics", "arithmetic", "alternative", "cases", "unexplained": [{"case", "failure", "message"}], "notes", "undecided", "text"}.
/// Throws as check().
void suggest(const Json& request, const Python& python);

}  // namespace flashproof::python
