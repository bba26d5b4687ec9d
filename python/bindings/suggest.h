// flashproof.suggest() below its Python half.
#pragma once

#include <string>
#include <vector>

#include "python/bindings/callable_kernel.h"

namespace flashproof::python {

struct SuggestRequest {
  std::vector<std::string> families;  // globs; empty: all
  std::uint64_t seed = 1;             // of the first case of every family
  std::uint64_t cases = 2;            // per family
  nanobind::object progress;          // (done, in all, what) -> None, or None
};

/// {"found", "semantics", "arithmetic", "alternative", "cases", "unexplained": [{"case", "failure", "message"}], "notes", "undecided",
/// "text"}. The interpreter's lock must be held. Throws as check(), and what Ctrl-C raises.
std::string suggest(CallableDeclaration declaration, const SuggestRequest& request);

}  // namespace flashproof::python
