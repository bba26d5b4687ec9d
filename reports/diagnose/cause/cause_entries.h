// Causes as entries of the verdict's block.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// Of one kernel.
struct DiagnosedKernel {
  std::string name;     // as the block calls it
  std::string failing;  // how much of it fails in all
  std::function<std::string(const std::string& case_line)> replay;
  bool is_foreign =
      false;  // what it means to return it may declare (reference/error/semantics/semantics.h): the field is named
};

/// Whether the diagnosis says more than that it broke off.
bool is_diagnosed(const std::vector<Cause>& causes);
/// Whether it is certain of something.
bool is_certain(const std::vector<Cause>& causes);

/// An entry for every certain cause, and one for what has none.
std::vector<CauseEntry> cause_entries(const std::vector<Cause>& causes, const DiagnosedKernel& kernel);

}  // namespace flashproof
