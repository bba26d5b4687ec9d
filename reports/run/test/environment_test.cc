#include "reports/run/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace flashproof {
namespace {

TEST(Environment, takes_the_revision_it_is_told_and_asks_for_no_gpu_unless_it_is_used) {
  ASSERT_EQ(::setenv("FLASHPROOF_REVISION", "v1\nnext", 1), 0);
  const Environment told = this_environment(false);
  EXPECT_EQ(told.revision, "v1?next");
  EXPECT_EQ(told.gpu, "not used");
  ASSERT_EQ(::setenv("FLASHPROOF_REVISION", "", 1), 0);
  const std::string own = this_environment(false).revision;
  ASSERT_EQ(::unsetenv("FLASHPROOF_REVISION"), 0);
  EXPECT_EQ(this_environment(false).revision, own);
  EXPECT_NE(own, "");
}

/// A folder of its own, first in PATH.
class Revision : public testing::Test {
 protected:
  Revision() {
    std::string name = testing::TempDir() + "flashproof-revision-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(folder_ / "tree/build/cpu");
    ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~Revision() override {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void git(const std::string& body) {
    std::ofstream(folder_ / "git") << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(folder_ / "git", std::filesystem::perms::owner_all);
  }
  void checkout() {
    std::filesystem::create_directories(folder_ / "tree/.git/refs/heads");
    std::ofstream(folder_ / "tree/.git/HEAD") << "ref: refs/heads/main\n";
    std::ofstream(folder_ / "tree/.git/refs/heads/main") << "89ef\n";
  }
  std::string revision() const { return checkout_revision(folder_ / "tree/build/cpu"); }

 private:
  std::filesystem::path folder_;
  std::string path_ = ::getenv("PATH");
};

TEST_F(Revision, is_the_commit_and_whether_files_have_changed) {
  checkout();
  git("case \"$*\" in *rev-parse*) echo 0123abcd ;; esac");
  EXPECT_EQ(revision(), "0123abcd");
  git("case \"$*\" in *rev-parse*) echo 0123abcd ;; *status*) echo ' M a file' ;; esac");
  EXPECT_EQ(revision(), "0123abcd-dirty");
}

TEST_F(Revision, is_read_without_git_where_git_fails) {
  checkout();
  git("exit 127");
  EXPECT_EQ(revision(), "89ef");
}

TEST_F(Revision, is_none_outside_a_checkout) {
  git("echo 0123abcd");
  EXPECT_EQ(revision(), "");
}

TEST_F(Revision, is_that_of_the_checkout_in_a_hook_of_another) {
  checkout();
  git("echo \"${GIT_DIR-0123abcd}\"");
  ::setenv("GIT_DIR", "elsewhere", 1);
  EXPECT_EQ(revision(), "0123abcd-dirty");
  ::unsetenv("GIT_DIR");
}

/// A driver that hangs must not stop the report.
TEST(Environment, waits_for_a_driver_only_so_long) {
  std::string folder = testing::TempDir() + "flashproof-environment-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = ::getenv("PATH");
  ASSERT_EQ(std::system(
                ("printf '#!/bin/sh\\nexec sleep 60\\n' >" + folder + "/nvidia-smi; chmod +x " + folder + "/nvidia-smi")
                    .c_str()),
            0);
  ASSERT_EQ(::setenv("PATH", (folder + ":" + path).c_str(), 1), 0);
  const auto start = std::time(nullptr);
  EXPECT_EQ(gpu_description(), "none");
  EXPECT_LT(std::time(nullptr) - start, 30);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_EQ(std::system(("rm -r " + folder).c_str()), 0);
}

}  // namespace
}  // namespace flashproof
