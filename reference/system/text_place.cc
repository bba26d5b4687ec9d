#include "reference/system/text_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashproof {

std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(text.size(), std::max<std::size_t>(at, 1) - 1));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string place = fmt::format("line {}, column {}", line, before.size() - start + 1);
  if (at > text.size() || text.empty()) return fmt::format("its end, {} ({} bytes)", place, text.size());
  return fmt::format("{} (byte {} of {})", place, before.size() + 1, text.size());
}

}  // namespace flashproof
