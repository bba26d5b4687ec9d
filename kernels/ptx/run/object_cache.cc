#include "kernels/ptx/run/object_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "reference/system/atomic_file.h"
#include "reference/system/read_file.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // of a file; an object has some kilobytes
constexpr std::string_view kMagic = "flashproof ptx object 1\n";

/// In front of the object: whose it is, how long, and its own hash.
struct Head {
  char magic[24];
  Hash key;
  std::uint64_t bytes;
  Hash object;
};
static_assert(sizeof(Head) == 64);

Head head_of(std::string_view key, const std::vector<char>& object) {
  Head head{};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  head.key = hash_of(key);
  head.bytes = object.size();
  head.object = hash_of({object.data(), object.size()});
  return head;
}

std::string default_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/flashproof/ptx";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/flashproof/ptx" : "";
}

/// Code is loaded from it: a folder that others may write to is not used.
bool is_own(const std::string& folder) {
  struct stat info{};
  return stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 022) == 0;
}

}  // namespace

Hash hash_of(std::string_view bytes) {
  Hash h{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
  const auto mix = [&](std::uint64_t word) {
    h.high = std::rotl((h.high ^ word) * 0x9fb21c651e98df25, 29) + h.low;
    h.low = std::rotl((h.low + word) * 0xd6e8feb86659fd93, 31) ^ h.high;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    mix(word);
  }
  mix(bytes.size());
  for (int i = 0; i < 4; ++i) mix(0);
  return h;
}

ObjectCache::ObjectCache(std::string folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {}

std::string ObjectCache::path(std::string_view key) const {
  const Hash hash = hash_of(key);
  return fmt::format("{}/{:016x}{:016x}.o", folder_, hash.high, hash.low);
}

std::optional<std::vector<char>> ObjectCache::find(std::string_view key) const {
  if (folder_.empty() || !is_own(folder_)) return std::nullopt;
  std::string file;
  try {
    file = read_file(path(key), kMostBytes);
  } catch (const std::runtime_error&) {  // there is no file, or one that no cache has written
    return std::nullopt;
  }
  if (file.size() < sizeof(Head)) return std::nullopt;
  std::vector<char> object(file.begin() + sizeof(Head), file.end());
  const Head wanted = head_of(key, object);
  if (std::memcmp(file.data(), &wanted, sizeof wanted) != 0) return std::nullopt;
  return object;
}

void ObjectCache::keep(std::string_view key, const std::vector<char>& object) const {
  if (folder_.empty()) return;
  std::error_code error;
  if (std::filesystem::create_directories(folder_, error))
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
  if (!is_own(folder_)) return;
  const Head head = head_of(key, object);
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  file.append(object.data(), object.size());
  try {
    write_atomically(path(key), file);
  } catch (const std::runtime_error&) {  // the next run compiles again
  }
}

}  // namespace flashproof::ptx
