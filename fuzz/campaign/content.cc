#include "fuzz/campaign/content.h"

#include <fmt/format.h>

#include <boost/uuid/detail/sha1.hpp>
#include <string>

#include "reference/system/error.h"
#include "reference/system/read_file.h"

namespace flashproof {

std::string content_name(const Bytes& bytes) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(bytes.data(), bytes.size());
  unsigned int digest[5];
  hash.get_digest(digest);
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", digest[0], digest[1], digest[2], digest[3], digest[4]);
}

std::optional<Bytes> read_regular(const std::filesystem::path& path, std::size_t limit) {
  try {
    const std::string text = read_file(path, limit);
    return Bytes(text.begin(), text.end());
  } catch (const UsageError&) {
    return std::nullopt;
  } catch (const InfrastructureError&) {
    return std::nullopt;
  }
}

}  // namespace flashproof
