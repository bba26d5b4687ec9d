// Small text helpers: how numbers and foreign strings appear in lines, tables and Markdown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/system/text.h"

namespace flashproof {

/// one_line(), and every character that Markdown would interpret inside a table cell escaped with a backslash.
std::string markdown_escaped(std::string_view text);
/// At most about five characters: 0.43, 3.1, 120, 4e5, inf, nan.
std::string short_number(double value);
/// "%.9g" (exact for f32), with inf, -inf, nan.
std::string long_number(double value);
/// Pads with spaces on the right (or the left) to `width`; counts bytes, so ASCII only.
std::string pad(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
/// "1 case", "4 cases".
std::string counted(std::uint64_t n, std::string_view one, std::string_view many);
/// Line breaks in place of spaces, so that no line is longer than `width` where a space allows it.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace flashproof
