// Text of many megabytes as one word of JSON: zstd, then base64. `jq -r .state report.json | base64 -d | zstd -d` reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flashproof {

std::string packed_text(std::string_view text);
/// Throws UsageError that says what is wrong with it: no base64, no frame of zstd, its checksum, or more than `most` bytes of text.
std::string unpacked_text(std::string_view packed, std::uint64_t most);

}  // namespace flashproof
