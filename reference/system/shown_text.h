// Text from outside – names, paths, messages of kernels – on its way to a terminal or into a document.
#pragma once

#include <string>
#include <string_view>

namespace flashproof {

/// one_line() of each line.
std::string shown_lines(std::string_view text);

/// A word of a command that is printed for copying into a shell (bash, zsh): as it is, in single quotes, or, where it holds what one_line() does not
/// keep, as $'...' with those bytes as \xNN.
std::string shell_word(const std::string& text);

}  // namespace flashproof
