#include "reports/views/terminal/colour.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace flashproof {

Colour colour_of(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (refused != nullptr && *refused != '\0') return Colour::off;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return Colour::off;
  return ::isatty(descriptor) == 1 ? Colour::on : Colour::off;
}

std::string painted(std::string_view text, Hue hue, Colour colour) {
  if (colour == Colour::off) return std::string(text);
  constexpr std::string_view kCodes[] = {"32", "31", "33", "1"};  // ECMA-48, select graphic rendition
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(hue)], text);
}

}  // namespace flashproof
