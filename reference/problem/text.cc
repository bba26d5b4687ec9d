#include "reference/problem/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace flashproof {

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  for (unsigned char c : text.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7f) {
      result += static_cast<char>(c);
    } else {
      result += fmt::format("\\x{:02x}", c);
    }
  }
  if (text.size() > limit) result += "...";
  return result;
}

namespace {

/// Bytes of the character that the text begins with, if it is one of two or three bytes that legible() keeps; else 0.
std::size_t kept_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  if (at(0) >= 0xc2 && at(0) <= 0xdf && follows(1)) {
    return ((at(0) & 0x1fU) << 6U | (at(1) & 0x3fU)) >= 0xa0 ? 2 : 0;  // below: control characters
  }
  if (at(0) < 0xe1 || at(0) > 0xed || !follows(1) || !follows(2)) return 0;
  const unsigned code = (at(0) & 0xfU) << 12U | (at(1) & 0x3fU) << 6U | (at(2) & 0x3fU);
  const bool unseen = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2060 && code <= 0x206f) || code >= 0xd800;
  return unseen ? 0 : 3;
}

}  // namespace

std::string legible(std::string_view text, std::size_t limit) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size() && at < limit) {
    const std::size_t kept = kept_bytes(text.substr(at));
    result += kept > 0 ? std::string(text.substr(at, kept)) : printable(text.substr(at, 1));
    at += std::max<std::size_t>(kept, 1);
  }
  if (at < text.size()) result += "...";
  return result;
}

std::string one_line(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return result;
}

std::string quote(std::string_view text) { return '"' + printable(text) + '"'; }

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto value = parse_u64(text);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (!text.starts_with('-')) return parse_count(text);
  const auto value = parse_count(text.substr(1));
  if (!value || *value == 0) return std::nullopt;
  return -*value;
}

namespace {

template <class ParseOne>
std::optional<std::vector<std::int64_t>> parse_list(std::string_view text, ParseOne parse_one) {
  std::vector<std::int64_t> result;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto value = parse_one(text.substr(0, comma));
    if (!value) return std::nullopt;
    result.push_back(*value);
    if (comma == std::string_view::npos) return result;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;  // a comma at the end
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text) { return parse_list(text, parse_count); }
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  return parse_list(text, parse_integer);
}

bool is_name(std::string_view text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto legal = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= 64 && lower(text[0]) && std::all_of(text.begin(), text.end(), legal);
}

}  // namespace flashproof
