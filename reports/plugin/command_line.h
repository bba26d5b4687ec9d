// Which command lines are about a library behind the C ABI (kernels/plugin.h), and so of flashproof-plugin: a program of its own, quickly
// built, which has none of this project's kernels.
#pragma once

#include <string_view>

namespace flashproof {

/// A path: it has a slash, or ends as a library does or what one is compiled from. No kernel of this build has an id like that; a library
/// may have one, "softmax.mine.c", which only --kernel names.
bool names_plugin(std::string_view argument);
/// check or list of what names_plugin() and is not an option's value, suggest, or replay with --plugin. The launcher's plan.cmake chooses
/// the program by the same rule.
bool is_plugin_command(int argc, const char* const* argv);
/// Becomes flashproof-plugin, which lies beside this program or in plugin/ below. Throws UsageError where it does not.
[[noreturn]] void run_plugin_program(char** argv);

}  // namespace flashproof
