#include "kernels/plugin/printed.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace flashproof {
namespace {

TEST(Printed, an_end_that_the_process_closed_is_not_waited_for) {
  Printed printed;
  printed.show();
  EXPECT_GE(printed.ours(), 0) << "nothing was printed yet";
  ASSERT_EQ(::write(printed.theirs().get(), "last", 4), 4);
  printed.theirs().close();
  testing::internal::CaptureStderr();
  printed.show_last();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "plugin: last\n");
  EXPECT_EQ(printed.ours(), -1);
  printed.show();  // of a closed end: nothing
}

}  // namespace
}  // namespace flashproof
