#include "reference/system/shown_text.h"

#include <fmt/format.h>

#include "reference/system/text.h"

namespace flashproof {

std::string shown_lines(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (;;) {
    const std::size_t end = text.find('\n');
    lines += one_line(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:=,+";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  const bool kept = one_line(text) == text;
  std::string quoted = kept ? "'" : "$'";
  for (const char c : text) {
    if (kept) {
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (c == '\'' || c == '\\') {
      quoted += {'\\', c};
    } else if (c >= 0x20 && c < 0x7f) {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + "'";
}

}  // namespace flashproof
