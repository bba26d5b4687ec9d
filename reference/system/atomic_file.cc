#include "reference/system/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path) {
  throw InfrastructureError(fmt::format("{}: cannot be written: {}", shown(path), std::strerror(errno)));
}

/// A new file in `directory` without a name until it is whole: a process that is killed while it writes leaves none behind. Where the
/// file system has no such files, or they cannot be given a name (no /proc), one with a name that the destructor removes. A process
/// that is killed while its file has a temporary name, which every file has just before it is renamed, leaves it. `named` stands in
/// the messages.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& directory, const fs::path& named)
      : name_((directory / ".flashproof-XXXXXX").string()), directory_(directory), named_(named) {
    descriptor_ = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor_ >= 0 && ::access(link_to_file().c_str(), F_OK) == 0) return;
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
    if (descriptor_ < 0) cannot_write(named_);
    has_name_ = true;
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (has_name_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) cannot_write(named_);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  void set_mode(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0) cannot_write(named_);
  }
  /// On the disk before it has the name, and the name after it: a machine that loses power has the old file or the new one.
  void rename_to(const fs::path& target) {
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) cannot_write(named_);
    if (!has_name_) give_name();
    const int closed = ::close(descriptor_);  // a full disk may show only here
    descriptor_ = -1;
    if (closed != 0 || ::rename(name_.c_str(), target.c_str()) != 0) cannot_write(named_);
    has_name_ = false;
    const Descriptor folder(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) ::fsync(folder.get());
  }

 private:
  /// linkat() replaces nothing: first a name of its own, of which mkostemp makes sure.
  void give_name() {
    const std::string pattern = name_, open_file = link_to_file();
    do {
      name_ = pattern;
      const int placeholder = ::mkostemp(name_.data(), O_CLOEXEC);
      if (placeholder < 0) cannot_write(named_);
      ::close(placeholder);
      ::unlink(name_.c_str());
      has_name_ = ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    } while (!has_name_ && errno == EEXIST);  // another process has made one of that name just now
    if (!has_name_) cannot_write(named_);
  }
  std::string link_to_file() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  std::string name_;
  fs::path directory_, named_;
  int descriptor_ = -1;
  bool has_name_ = false;
};

/// What open() with 0666 would have given: mkostemp's own 0600 is too narrow for a result.
mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>(0666 & ~mask);
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

fs::path replaceable_file(const fs::path& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0) {
    if (errno != ENOENT) cannot_write(path);
    if (::lstat(path.c_str(), &there) != 0) return path;
    if (S_ISLNK(there.st_mode)) {
      throw UsageError(fmt::format("{}: a link to nothing, must be a regular file or a new name", shown(path)));
    }  // else another process has made it just now
  }
  if (!S_ISREG(there.st_mode)) {
    throw UsageError(fmt::format("{}: a directory, device or pipe, must be a regular file or a new name", shown(path)));
  }
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) throw InfrastructureError(fmt::format("{}: cannot be written: {}", shown(path), error.message()));
  return target;
}

void write_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path target = replaceable_file(path);
  struct stat old{};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  TemporaryFile file(directory_of(target), path);
  file.write(bytes);
  file.set_mode(exists ? old.st_mode & 07777U : mode_of_new_files());
  file.rename_to(target);
}

void remove_earlier(const fs::path& path, std::string_view mark) {
  const fs::path target = replaceable_file(path);
  std::error_code error;
  if (fs::exists(target, error) && !mark.empty()) {
    std::string begin(4096, '\0');
    std::ifstream in(target, std::ios::binary);
    if (!in)
      throw UsageError(fmt::format("{}: is there and cannot be read, must be a result of an earlier run or a new name",
                                   shown(path)));
    begin.resize(static_cast<std::size_t>(in.read(begin.data(), std::ssize(begin)).gcount()));
    if (!begin.empty() && begin.find(mark) == std::string::npos) {
      throw UsageError(
          fmt::format("{}: is there and no result of an earlier run, must be one or a new name", shown(path)));
    }
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (!error) fs::remove(path, error);
  if (error) throw InfrastructureError(fmt::format("{}: {}", shown(path), error.message()));
}

void remove_earlier_results(const fs::path& junit, const fs::path& json) {
  const auto place = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  if (!junit.empty() && !json.empty() && place(junit) == place(json))
    throw UsageError(fmt::format("--junit and --json: {} is one file, must be two", shown(json)));
  if (!junit.empty()) remove_earlier(junit, "<testsuite");
  if (!json.empty()) remove_earlier(json, "\"results\"");
}

void require_writable(const fs::path& directory, std::string_view option) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error)) {
    throw InfrastructureError(fmt::format("{} {}: cannot create the directory: {}", option, shown(directory),
                                          error ? error.message() : "a file is in the way"));
  }
  const TemporaryFile probe(directory, directory);
}

void require_writable_file(const fs::path& file, std::string_view option) {
  require_writable(fs::absolute(file).parent_path(), option);
  replaceable_file(file);
}

}  // namespace flashproof
