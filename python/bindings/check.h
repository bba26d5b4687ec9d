// flashproof.check() below its Python half: the laws and the measurements of one callable.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/family.h"
#include "python/bindings/door.h"

namespace flashproof::python {

/// Those of the problem that the globs name; all without one. Throws UsageError for a glob that names none.
std::vector<const Family*> families_named(ProblemKind problem, const std::vector<std::string>& globs);

/// Of a callable (callable_kernel.h) and the members of check.cc's Request: {"partial", "lost", "interrupted", "unasked": families, "cut": families, "laws": [...] each with "unasked", "families": [...], "causes": [[sentence, extent, replay], ...], "junit": XML}. Numbers that JSON has not are strings ("inf", "nan").
/// Where Python raises something, the run ends with what there is. Throws UsageError and InfrastructureError.
void check(const Json& request, const Python& python);

}  // namespace flashproof::python
