// Compiled objects on disk, by a hash of what they were made of. A file is used only if it holds what its name says, whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof::ptx {

/// 128 bits, equal for equal bytes on every machine. Finds damage, not forgery: the folder is the user's own.
struct Hash {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Hash&) const = default;
};
Hash hash_of(std::string_view bytes);

class ObjectCache {
 public:
  /// An empty folder: $XDG_CACHE_HOME/flashproof/ptx, or ~/.cache/flashproof/ptx; where neither is known, nothing is kept.
  explicit ObjectCache(std::string folder);

  /// Of the key (the IR and the machine); nothing where there is none, where it is damaged, or where it cannot be read.
  std::optional<std::vector<char>> find(std::string_view key) const;
  /// Whole or not at all, also beside other processes. That it cannot be written is no error: the next run compiles again.
  void keep(std::string_view key, const std::vector<char>& object) const;

  const std::string& folder() const { return folder_; }

 private:
  std::string path(std::string_view key) const;
  std::string folder_;
};

}  // namespace flashproof::ptx
