#include "reference/system/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "reference/system/child_process.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AtomicFile : public testing::Test {
 protected:
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator{}); }
  /// Must be refused with one line that names the path, and nothing changed.
  void expect_refused(const fs::path& path) const {
    const auto before = fs::symlink_status(path).type();
    const auto count = entries();
    try {
      write_atomically(path, "x");
      ADD_FAILURE() << path << " was written";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path.filename().string()));
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
    EXPECT_EQ(fs::symlink_status(path).type(), before);
    EXPECT_EQ(entries(), count);
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};

TEST_F(AtomicFile, replaces_the_whole_file_and_leaves_nothing_else) {
  write_atomically(folder / "a.txt", "a longer text");
  write_atomically(folder / "a.txt", "two");
  EXPECT_EQ(read_file(folder / "a.txt"), "two");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, a_pipe_a_directory_and_a_link_to_either_are_refused_and_survive) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "directory");
  fs::create_symlink("pipe", folder / "to_pipe");
  fs::create_symlink("nowhere", folder / "to_nothing");
  fs::create_symlink("/dev/null", folder / "to_device");
  for (const char* name : {"pipe", "directory", "to_pipe", "to_nothing", "to_device"}) expect_refused(folder / name);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFile, results_of_an_earlier_run_are_removed_and_no_file_of_the_user) {
  const fs::path earlier = folder / "r.json", notes = folder / "notes.txt", empty = folder / "empty";
  const auto put = [](const fs::path& path, const char* text) { std::ofstream(path) << text; };
  put(earlier, "{\"seed\": 1, \"results\": []}");
  put(notes, "mine");
  put(empty, "");
  remove_earlier_results("", earlier);
  remove_earlier_results(empty, folder / "new/r.json");
  EXPECT_FALSE(fs::exists(earlier) || fs::exists(empty));
  EXPECT_TRUE(fs::is_directory(folder / "new"));
  for (const fs::path& none : {notes, fs::path("/proc/self/exe")}) {
    EXPECT_THROW(remove_earlier_results("", none), UsageError) << none;
    EXPECT_THROW(remove_earlier_results(none, ""), UsageError) << none;
  }
  EXPECT_EQ(fs::file_size(notes), 4U);
  EXPECT_THROW(remove_earlier_results(folder / "x", folder / "." / "x"), UsageError);
}

TEST_F(AtomicFile, a_link_to_a_regular_file_is_written_through) {
  fs::create_directory(folder / "elsewhere");
  write_atomically(folder / "elsewhere/real", "old");
  fs::create_symlink("elsewhere/real", folder / "link");
  write_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "elsewhere/real"), "new");
}

TEST_F(AtomicFile, an_existing_file_keeps_its_mode_and_a_new_one_gets_the_usual) {
  const mode_t mask = ::umask(022);
  write_atomically(folder / "a", "x");
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms{0644});
  fs::permissions(folder / "a", fs::perms{0640});
  write_atomically(folder / "a", "y");
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms{0640});
  ::umask(mask);
}

TEST_F(AtomicFile, a_failing_write_says_why_and_leaves_the_old_file_alone) {
  write_atomically(folder / "a", "old");
  // A limit on the size of files stands in for a full disk.
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{1000, old_limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string what;
  try {
    write_atomically(folder / "a", std::string(5000, 'x'));
  } catch (const InfrastructureError& e) {
    what = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(what, HasSubstr("File too large"));
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, a_place_that_cannot_be_written_is_one_clear_line) {
  write_atomically(folder / "file", "x");
  EXPECT_THROW(write_atomically(folder / "file/below", "x"), InfrastructureError);
  EXPECT_THROW(write_atomically(folder / "missing/below", "x"), InfrastructureError);
}

TEST_F(AtomicFile, that_a_folder_can_be_written_is_shown_before_the_work) {
  write_atomically(folder / "file", "x");
  EXPECT_THROW(require_writable(folder / "file", "--out"), InfrastructureError);
  EXPECT_THROW(require_writable(folder / "file/below", "--out"), InfrastructureError);
  require_writable(folder / "new/nested", "--out");
  EXPECT_TRUE(fs::is_empty(folder / "new/nested"));
}

/// In a child whose root is the folder: nothing is mounted there.
TEST_F(AtomicFile, without_proc_a_file_is_written_under_a_temporary_name) {
  constexpr int kNoRoot = 77;
  const auto elsewhere = [&] {
    if (::geteuid() != 0) ::unshare(CLONE_NEWUSER);
    if (::chroot(folder.c_str()) != 0 || ::chdir("/") != 0) ::_exit(kNoRoot);
    write_atomically("/a", "old");
    write_atomically("/a", "new");
    require_writable("/", "--out");
  };
  const int status = reap(fork_child(elsewhere), 10'000);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kNoRoot) GTEST_SKIP() << "cannot change the root folder here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, a_name_of_the_greatest_length_can_be_written) {
  write_atomically(folder / std::string(255, 'a'), "x");  // NAME_MAX
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace flashproof
