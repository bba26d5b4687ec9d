// Small helpers for text that comes from outside: one-line quoting for messages, and strict numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

/// The text with everything unprintable as \xNN, cut at `limit` characters: safe inside a one-line message.
std::string printable(std::string_view text, std::size_t limit = 60);
/// The same, but letters and signs beyond ASCII stay as they are (±, 2^−149): valid UTF-8, and nothing that steers a terminal,
/// reverses the direction of text or is invisible.
std::string legible(std::string_view text, std::size_t limit = 60);
/// A path in a message.
std::string shown(const std::filesystem::path& path);
/// printable() in double quotes.
std::string quote(std::string_view text);

/// What legible() does not keep replaced by '?', byte by byte: text from outside can neither break a line, drive a terminal nor change the
/// direction of what stands beside it. For every text from outside that is printed or written into a report.
std::string one_line(std::string_view text);

/// Decimal digits only, no sign, no space, no leading zero.
std::optional<std::uint64_t> parse_u64(std::string_view text);
/// parse_u64 that fits an int64.
std::optional<std::int64_t> parse_count(std::string_view text);
/// parse_count, with a '-' before a number that is not 0.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// "" is the empty list; otherwise counts (integers) with one comma between them.
std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text);
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text);

/// [a-z][a-z0-9_]*, at most 64 characters: the names of families and keys.
bool is_name(std::string_view text);

}  // namespace flashproof
