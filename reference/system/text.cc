#include "reference/system/text.h"

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

struct Range {
  std::uint32_t first, last;
};

/// What steers a terminal or the direction of text, or is not seen: controls, soft hyphen, marks and overrides of direction, joiners,
/// separators, byte order marks, tags; surrogates and what is no character.
constexpr Range kRefused[] = {{0, 0x9f},          {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
                              {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
                              {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xdfff},
                              {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xffff},
                              {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff}};

/// Bytes of the character that the text begins with, if it is one beyond ASCII that is kept; else 0. Only the shortest form is one.
std::size_t kept_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0x80, 0x800, 0x10000};
  if (code < kLeast[length - 2] || code > 0x10ffff) return 0;
  const bool refused = std::ranges::any_of(kRefused, [&](Range r) { return r.first <= code && code <= r.last; });
  return refused ? 0 : length;
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
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool ascii = byte >= 0x20 && byte < 0x7f;
    const std::size_t kept = ascii ? 1 : kept_bytes(text);
    result += kept > 0 ? text.substr(0, kept) : std::string_view("?");
    text.remove_prefix(std::max<std::size_t>(kept, 1));
  }
  return result;
}

std::string shown(const std::filesystem::path& path) { return printable(path.string(), 4096); }

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
