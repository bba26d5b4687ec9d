// The command line of flashproof-plugin.
//
//   check ./my.so [options]              every law on the kernels of a library
//   suggest ./my.so [options]            the declaration that explains its kernels
//   replay WITNESS --plugin ./my.so      one case again
//   list ./my.so                         what the library says, and what was understood of it
#pragma once

namespace flashproof {

/// Exit codes: exit_codes.h. A library that breaks the rules of plugin.h is a finding, one that is none a wrong argument.
int plugin_main(int argc, char** argv);

}  // namespace flashproof
