// Shell-like patterns over names: * is any run of characters, ? is exactly one, everything else stands for itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

bool glob_match(std::string_view pattern, std::string_view name);

/// Indices into `names` that at least one pattern matches, ascending; no pattern at all selects everything. Throws
/// UsageError with the near matches for the first pattern that matches nothing; `what` is "kernel", "family", ...
std::vector<std::size_t> select_names(std::span<const std::string> patterns, std::span<const std::string_view> names,
                                      std::string_view what);

/// The one line for an unknown name: `unknown kernel "x"; near: a, b`.
std::string unknown_name(std::string_view what, std::string_view wrong, std::span<const std::string_view> names);

}  // namespace flashproof
