// Output files: all of the bytes or nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace flashproof {

/// The file that writing to `path` replaces: `path` itself, or what it links to. Throws UsageError if something stands
/// there that is not a regular file (a directory, a device, a pipe, a link to nothing): renaming over it would destroy
/// it. For a command that works long before it writes, a check to make first.
std::filesystem::path replaceable_file(const std::filesystem::path& path);

/// Written beside replaceable_file(path) under a name of its own and renamed. An existing file keeps its mode. Throws
/// InfrastructureError with the reason; then nothing has changed.
void write_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
inline void write_atomically(const std::filesystem::path& path, std::string_view text) {
  write_atomically(path, std::as_bytes(std::span(text)));
}

/// Removes what an earlier run wrote to `path`, which would be taken for this one's if this one ends early, and makes its folder. Throws
/// UsageError for what replaceable_file() refuses, and for a file that is not empty and does not hold `mark` in its first 4 KiB: that is
/// no earlier run's, but the user's. InfrastructureError where it cannot be removed. An empty mark: whatever it holds.
void remove_earlier(const std::filesystem::path& path, std::string_view mark);
/// The same of what --junit and --json name; an empty path is none. Throws UsageError, too, where both are one file.
void remove_earlier_results(const std::filesystem::path& junit, const std::filesystem::path& json);

/// For a command that works long before it writes: creates the directory, makes a file in it and removes that. Throws
/// InfrastructureError, which names `option`.
void require_writable(const std::filesystem::path& directory, std::string_view option);
/// The same for a file: its folder is made, and what stands there can be replaced.
void require_writable_file(const std::filesystem::path& file, std::string_view option);

}  // namespace flashproof
