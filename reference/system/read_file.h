// The one door for files from outside. A pipe, a device or a folder would be read for ever or not at all, and a file may claim
// terabytes: neither is opened as if it were a document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace flashproof {

/// All of a regular file of at most `limit` bytes. Throws UsageError "<path>: must be a regular file ..." or "<path>: N bytes, must
/// be at most ...", InfrastructureError where it cannot be read.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace flashproof
