// experiment [NAME...]: known results of the literature, measured again; without a name, all of them. Markdown on stdout.
#include <cstdio>

#include <fmt/format.h>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/experiments/experiments.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

const Experiment& named(const std::string& name) {
  std::string legal;
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return experiment;
    legal += fmt::format("{}{}", legal.empty() ? "" : ", ", experiment.name);
  }
  throw UsageError(fmt::format("experiment {}: must be one of {}", quote(name), legal));
}

}  // namespace

int experiment_command(const ExperimentArguments& arguments) {
  std::vector<const Experiment*> chosen;
  chosen.reserve(arguments.names.size());
  for (const std::string& name : arguments.names) chosen.push_back(&named(name));
  for (const Experiment& experiment : experiments()) {
    if (arguments.names.empty()) chosen.push_back(&experiment);
  }
  for (const Experiment* experiment : chosen) {
    std::printf("## %s\n\n%s (seed %llu)\n\n%s\n", experiment->name, experiment->about,
                static_cast<unsigned long long>(arguments.seed), experiment->run(arguments.seed).c_str());
    std::fflush(stdout);
  }
  return kExitFine;
}

}  // namespace flashproof
