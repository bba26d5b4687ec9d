#include "reports/run/git.h"

namespace flashproof {

void forget_callers_git(CommandLine& command) {
  for (const char* name :
       {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"}) {
    command.environment[name] = {};
  }
}

CommandLine git(const std::filesystem::path& root, const std::vector<std::string>& words) {
  CommandLine command{.words = {"git", "--no-optional-locks", "-C", root.string()}};
  command.words.insert(command.words.end(), words.begin(), words.end());
  forget_callers_git(command);
  return command;
}

}  // namespace flashproof
