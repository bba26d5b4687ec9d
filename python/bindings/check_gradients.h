// flashproof.check(problem="attention_backward") below its Python half: every family's gradients judged, as one JSON text.
#pragma once

#include <string>
#include <vector>

#include "python/bindings/callable_gradient.h"

namespace flashproof::python {

struct GradientRequest {
  std::vector<std::string> laws, families;  // globs; empty: all
  std::uint64_t seed = 1;                   // another one draws other cases; of 1 the first case of a family has seed 0
  std::uint64_t cases = 4;                  // per family that the callable takes
  double seconds = 0;                       // ends after so long with what there is; 0: no limit
  std::string witnesses;                    // folder; empty: none are written
  std::string replay;                       // a witness or a case line, and nothing else
  std::string program;                      // what replay lines begin with
};

/// As check(): {"partial", "lost", "laws": [...], "families": [...], "junit": XML}, a family with dq, dk and dv.
std::string check_gradients(GradientDeclaration declaration, const GradientRequest& request);

}  // namespace flashproof::python
