// Colour in the text of a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flashproof {

enum class Colour : std::uint8_t { off, on };

/// On where the descriptor is a terminal, unless NO_COLOR is set and not empty (no-color.org) or TERM is "dumb".
Colour colour_of(int descriptor);

enum class Hue : std::uint8_t { good, bad, caution, strong };
/// The text in that hue; as it is where colour is off.
std::string painted(std::string_view text, Hue hue, Colour colour);

}  // namespace flashproof
