// Files by what they hold: the names that corpora use, and bounded reading of files that anyone may have put there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace flashproof {

using Bytes = std::vector<std::uint8_t>;

/// SHA-1 in hexadecimal, 40 digits: what libFuzzer calls the file of an input.
std::string content_name(const Bytes& bytes);

/// Of a witness or of a corpus's input.
inline constexpr std::size_t kMostText = 64U << 20U;

/// What a regular file holds; nothing for anything else: no such file, a folder, a pipe, no permission, more than `limit` bytes.
std::optional<Bytes> read_regular(const std::filesystem::path& path, std::size_t limit);

}  // namespace flashproof
