// Names that an unknown name may have been meant as: for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

/// Names within a small edit distance of `wrong`, best first, at most three; used by every "unknown name" message.
std::vector<std::string_view> near_matches(std::string_view wrong, std::span<const std::string_view> names);

/// " (did you mean a, b or c?)" of near_matches(); empty if there are none.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace flashproof
