// PTX text -> module. Every statement is understood or refused; which instructions can be executed is not asked here (forms.h).
#pragma once

#include <string>
#include <string_view>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// `file` is what messages call it. Throws UsageError "FILE:LINE: what" for anything that is no PTX of version 7.0 to 9.x, and for
/// what exceeds the limits of module.h.
Module parse(std::string_view file, std::string_view source);

/// Reads the file. Throws as read_file(), and UsageError where it is empty.
Module parse_file(const std::string& path);

}  // namespace flashproof::ptx
