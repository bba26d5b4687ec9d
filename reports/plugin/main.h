// The command line for plugins. flashproof-plugin is nothing else, and flashproof-cli hands `check` and `replay` over where a
// plugin is named.
//
//   check ./my.so [options]              every law on the kernels of a library
//   suggest ./my.so [options]            the declaration that explains its kernels
//   replay WITNESS --plugin ./my.so      one case again
//   list ./my.so                         what the library says, and what was understood of it
#pragma once

#include <string_view>

namespace flashproof {

/// A path: it has a slash, or ends as a library does or what one is compiled from. No kernel of this build has an id like that; a library
/// may have one, "softmax.mine.c", which only --kernel names.
bool names_plugin(std::string_view argument);
/// Whether this is a command line for plugin_main(): check or list of what names_plugin() and is not an option's value, suggest, or replay
/// with --plugin. The launcher's plan.cmake chooses the program by the same rule.
bool is_plugin_command(int argc, const char* const* argv);
/// Exit codes: exit_codes.h. A library that breaks the rules of plugin.h is a finding, one that is none a wrong argument.
int plugin_main(int argc, char** argv);

}  // namespace flashproof
