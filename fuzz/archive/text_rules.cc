#include "fuzz/archive/text_rules.h"

#include "reference/system/text.h"

namespace flashproof::archive {
namespace {

/// Bytes of the character at the start of `text`; 0 if that is none. Unicode 15, table 3-7.
std::size_t character(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80; };
  const unsigned first = at(0);
  const unsigned second = at(1);
  if (first < 0x80) return first != 0 ? 1 : 0;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return tail(1) ? 2 : 0;
  if (first < 0xf0) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second >= 0xa0;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  const bool outside = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) || first > 0xf4;
  return tail(1) && tail(2) && tail(3) && !outside ? 4 : 0;
}

}  // namespace

bool is_clean(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string clean(std::string_view text, std::size_t limit) {
  if (!is_clean(text)) return printable(text, limit / 4 - 1);  // four bytes for one, and the "..." of what was cut
  while (text.size() > limit) {
    std::size_t end = limit;
    while ((static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
    text = text.substr(0, end);
  }
  return std::string(text);
}

}  // namespace flashproof::archive
