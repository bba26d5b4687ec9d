// Where in a text from outside a parser gave up, for a message that repeats nothing of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flashproof {

/// Of byte `at`, counted from 1 as nlohmann's parse_error::byte is: "line 2, column 5 (byte 17 of 40)"; of one behind the text: "its
/// end, line 2, column 28 (40 bytes)". Columns are bytes; a line ends with \n.
std::string place_in(std::string_view text, std::size_t at);

}  // namespace flashproof
