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
