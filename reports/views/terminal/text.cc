#include "reports/views/terminal/text.h"

#include <fmt/format.h>
#include <algorithm>

#include <cmath>

namespace flashproof {

std::string markdown_escaped(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_[]<>|~&$").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

namespace {

std::string non_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return non_finite(value);
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size < 1e-2 || size >= 9999.5) {
    const std::string text = fmt::format("{:.0e}", value);  // 4e+05 -> 4e5, 4e-05 -> 4e-5
    const std::size_t e = text.find('e');
    return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
  }
  if (size < 9.995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.{}f}", value, size < 99.95 ? 1 : 0);
}

std::string long_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : non_finite(value);
}

std::string pad(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width) result.append(width - result.size(), ' ');
  return result;
}

std::string pad_left(std::string_view text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + std::string(text) : std::string(text);
}

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (column > 0) {
      const bool fits = column + 1 + word.size() <= width;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return out;
}

}  // namespace flashproof
