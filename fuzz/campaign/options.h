// flashproof-fuzz's subcommands and options, and which of them a command line chose.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/campaign/campaign.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

struct FuzzArguments {
  CampaignOptions campaign;
  bool sanitize = false;            // for the launcher, which builds accordingly
  std::vector<std::string> status;  // --status [DIR]
  std::string shard;
  std::string out, to;
  std::string regressions, corpus;  // files of the source tree that a command changes
  std::vector<std::string> in;
};

/// Parsing fills `arguments` and sets `command`; both must outlive `app`.
void add_fuzz_commands(CLI::App& app, FuzzArguments& arguments, std::function<int()>& command);

}  // namespace flashproof
