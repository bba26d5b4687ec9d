// Scripts that let a shell complete commands, options and the values of an option, written from the declarations of the options.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

std::string bash_completion(const CLI::App& app);
/// To be sourced, or to lie in a folder of fpath as _flashproof.
std::string zsh_completion(const CLI::App& app);
/// To be sourced, or to lie in ~/.config/fish/completions as flashproof.fish.
std::string fish_completion(const CLI::App& app);

}  // namespace flashproof
