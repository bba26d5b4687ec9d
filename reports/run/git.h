// git on a checkout, as a child.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reference/system/run_command.h"

namespace flashproof {

/// `git -C root WORD ...`, which takes no locks that it can do without. In a hook git says by its environment which repository and
/// index the caller's are; here it reads the checkout that it is told and no other.
CommandLine git(const std::filesystem::path& root, const std::vector<std::string>& words);

/// Takes what a hook says of its caller's repository from the environment of a command.
void forget_callers_git(CommandLine& command);

}  // namespace flashproof
