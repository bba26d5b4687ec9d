// flashproof.check() below its Python half: the laws and the measurements of one callable, as one JSON text.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/family.h"
#include "python/bindings/callable_kernel.h"

namespace flashproof::python {

/// Those of the problem that the globs name; all without one. Throws UsageError for a glob that names none.
std::vector<const Family*> families_named(ProblemKind problem, const std::vector<std::string>& globs);

struct CheckRequest {
  std::vector<std::string> laws, families;  // globs; empty: all
  std::uint64_t seed = 1;                   // another one draws other cases
  std::uint64_t cases = 2;                  // drawn per family for the laws; 0: no laws
  std::uint64_t measured = 4;               // cases per family for the statistics; 0: none
  double seconds = 0;                       // ends after so long with what there is; 0: no limit
  std::string witnesses;                    // folder; empty: none are written
  std::vector<std::string> replay;          // witnesses or case lines, and nothing else
  std::string program;                      // what replay lines begin with
  nanobind::object progress;                // (cases done, in all, family) -> None, or None
};

/// {"partial", "lost", "interrupted", "unasked": families, "cut": families, "laws": [...] each with "unasked", "families": [...], "causes": [[sentence, extent, replay], ...], "junit": XML}. Numbers that JSON has not are strings ("inf", "nan").
/// The interpreter's lock must be held: it is given up while the laws run. Throws UsageError and InfrastructureError, and what the
/// callable raises that is no Exception; but Ctrl-C (KeyboardInterrupt) ends the run with what there is.
std::string check(CallableDeclaration declaration, const CheckRequest& request);

}  // namespace flashproof::python
