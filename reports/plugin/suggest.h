// `suggest ./my.so`: which declaration explains the kernels of a library (reports/suggest/suggest.h), asked in worker processes.
#pragma once

#include "kernels/plugin/load.h"
#include "reports/plugin/check.h"
#include "reports/suggest/suggest.h"

namespace flashproof {

struct KernelSuggestion {
  const Kernel* kernel;
  Suggestion suggestion = {};
  std::string why_not = {};  // nothing was asked: a gradient, no case, a GPU that is not there
};

/// Of the chosen kernels, on as many cases of every family as the options say. Throws UsageError as check_plugin().
std::vector<KernelSuggestion> suggest_for(const Plugin& plugin, const PluginCheck& options);
/// Prints them; exit code: fine where each has one, a finding where one has none, skipped where too little was decided.
int show(const std::vector<KernelSuggestion>& suggestions);

}  // namespace flashproof
