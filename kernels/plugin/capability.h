// What a description takes beyond the plain problem of dense tensors, and which problems put that to the test: a check in which none
// was decided is no pass of a kernel that says it takes it.
#pragma once

#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

struct Capability {
  std::string_view name;  // as a description has it: "window", "strides: any"
  /// Whether a kernel that leaves it out would be wrong here: a window that hides a key, a page table of more than one page.
  bool (*tested_by)(const Problem& problem);
};

/// Of a field `takes`, or "shared pages", "strides: rows", "strides: any", "d != dv". Throws std::logic_error if there is none of that name.
const Capability& capability(ProblemKind problem, std::string_view name);

}  // namespace flashproof
