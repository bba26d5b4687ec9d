// A full disk: one clear line, nothing of the old content lost, and writing goes on once there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "fuzz/archive/archive_fixture.h"

namespace flashproof {
namespace {

using testing::IsEmpty;
using testing::Not;

/// A limit on the size of files in this process; writing beyond it fails, as on a full disk (with another errno).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit small{bytes, old_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ADD_FAILURE() << "no limit";
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

void offer_a_megabyte(Archive& archive) {
  for (int i = 0; i < 256; ++i) archive.offer(elite(numbered("big", i), 0.5, std::vector<std::uint8_t>(4096, 3)));
}

TEST_F(ArchiveTest, a_full_disk_is_one_clear_line_and_nothing_is_lost_once_there_is_room) {
  Archive archive(file, Archive::Open::create);
  for (int i = 0; i < 10; ++i) archive.offer(elite(numbered("old", i), 0.5));
  archive.flush();
  offer_a_megabyte(archive);
  archive.report(finding("k"), "run");
  {
    const FileSizeLimit limit(200'000);
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_THAT(refusal<InfrastructureError>([&] { archive.flush(); }), HasSubstr("File too large"));
    }
    const Archive reader(file, Archive::Open::existing);
    EXPECT_THAT(missing(reader, "old", 10), IsEmpty());
    EXPECT_EQ(missing(reader, "big", 256).size(), 256U);
    EXPECT_THAT(reader.findings(), IsEmpty());
  }
  EXPECT_EQ(sql(file, "PRAGMA integrity_check"), "ok");
  archive.flush();
  archive.flush();
  const Archive reader(file, Archive::Open::existing);
  EXPECT_THAT(missing(reader, "big", 256), IsEmpty());
  EXPECT_EQ(reader.findings().at(0).hits, 1U);
}

TEST_F(ArchiveTest, without_room_for_a_new_archive_nothing_is_left_in_the_way) {
  {
    const FileSizeLimit limit(5000);
    EXPECT_THAT(refusal<InfrastructureError>([&] { Archive(file, Archive::Open::create); }), Not(IsEmpty()));
  }
  Archive archive(file, Archive::Open::create);
  offer_a_megabyte(archive);
  archive.flush();
  EXPECT_THAT(missing(Archive(file, Archive::Open::existing), "big", 256), IsEmpty());
}

/// A file system of 256 KiB in a mount namespace of the child's own: exits 2 where that is not allowed.
void fill_a_small_file_system(const fs::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") != 0) {
    ::_exit(2);
  }
  const fs::path file = folder / "archive.sqlite";
  const fs::path ballast = folder / "ballast";
  std::ofstream(ballast) << std::string(120'000, 'x');
  Archive archive(file, Archive::Open::create);
  archive.offer(elite("old", 0.5));
  archive.flush();
  for (int i = 0; i < 16; ++i) archive.offer(elite(numbered("big", i), 0.5, std::vector<std::uint8_t>(3000, 3)));
  std::string what;
  try {
    archive.flush();
  } catch (const InfrastructureError& e) {
    what = e.what();
  }
  if (what.find("full") == std::string::npos || what.find("archive.sqlite") == std::string::npos) {
    throw std::runtime_error("not refused as it should be: " + what);
  }
  if (Archive(file, Archive::Open::existing).elites().size() != 1) throw std::runtime_error("not as before");
  fs::remove(ballast);
  archive.flush();
  if (!missing(Archive(file, Archive::Open::existing), "big", 16).empty()) throw std::runtime_error("lost");
}

TEST_F(ArchiveTest, a_full_file_system_is_the_same_where_one_can_be_made) {
  const int status = status_of(in_child([&] { fill_a_small_file_system(folder); }));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace flashproof
