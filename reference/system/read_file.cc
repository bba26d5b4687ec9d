#include "reference/system/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {

std::string read_file(const std::filesystem::path& path, std::uint64_t limit) {
  const std::string shown = legible(path.string(), 4096);
  // Non-blocking: opening a pipe that no process writes would wait for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file)
    throw UsageError(fmt::format("{}: must be a regular file that can be read ({})", shown, std::strerror(errno)));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw UsageError(fmt::format("{}: must be a regular file, not a folder, a device or a pipe", shown));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit) throw UsageError(fmt::format("{}: {} bytes, must be at most {}", shown, size, limit));
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw InfrastructureError(fmt::format("{}: cannot be read: {}", shown, std::strerror(errno)));
    if (n == 0) break;  // it became shorter meanwhile
    have += static_cast<std::size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace flashproof
