#include "reports/run/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <ctime>
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
