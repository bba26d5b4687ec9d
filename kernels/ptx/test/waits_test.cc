// Loops that wait for other threads: lanes, warps and blocks go on in turns, so that what is waited for comes; and what a volatile
// counter loses when another block comes between its load and its store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

TEST(Waits, a_warp_for_a_later_warp) {
  const auto wait = [](const char* fence) {
    return said_of_threads(
        std::string("st.shared.u32 [s+512], 0;\nbar.sync 0;\n@%p1 bra $W;\nst.shared.u32 [%w1], "
                    "%i;\nbar.warp.sync -1;\nsetp.ne.u32 %p2, %n, 32;\n@%p2 bra $E;\n") +
        fence + "st.volatile.shared.u32 [s+512], 1;\nbra.uni $E;\n$W:\nld.volatile.shared.u32 %w5, " +
        "[s+512];\nsetp.eq.u32 %p3, %w5, 0;\n@%p3 bra $W;\n" + fence + "ld.shared.u32 %ow, [%w2];\n$E:\n");
  };
  EXPECT_EQ(wait("membar.cta;\n"), "");
  EXPECT_THAT(wait(""), HasSubstr("which warp 1 wrote in line "));
}

/// Each lane adds under a lock, as a lane of a GPU since sm_70 may.
TEST(Waits, lanes_for_a_lane_that_has_the_lock) {
  EXPECT_EQ(said_of_threads(
                "$L:\natom.global.cas.b32 %w5, [%C+4], 0, 1;\nsetp.ne.u32 %p3, %w5, 0;\n@%p3 bra $L;\nmembar.gl;\n"
                "ld.global.u32 %w6, [%C];\nadd.u32 %w6, %w6, 1;\nst.global.u32 [%C], %w6;\nmembar.gl;\n"
                "atom.global.exch.b32 %w5, [%C+4], 0;\n",
                64, 3),
            "");
}

/// Each thread's first thread: all blocks come before one goes on.
std::string grid_barrier(const std::string& before, const std::string& after, unsigned blocks, const char* target) {
  return said_of_threads(
      "st.global.u32 [%O], %i;\nbar.sync 0;\nsetp.ne.u32 %p2, %n, 0;\n@%p2 bra $W;\n" + before +
          "atom.global.add.u32 %w5, [%C+4], 1;\n$S:\nld.volatile.global.u32 %w5, [%C+4];\nsetp.lt.u32 %p3, %w5, " +
          target + ";\n@%p3 bra $S;\n" + after +
          "$W:\nbar.sync 0;\nxor.b32 %w4, %i, 15;\nmul.wide.u32 %d1, %w4, 8;\nadd.s64 "
          "%d1, %C, %d1;\nld.global.u32 %ow, [%d1];\n",
      1, blocks);
}

TEST(Waits, blocks_for_later_blocks) {
  EXPECT_EQ(grid_barrier("membar.gl;\n", "membar.gl;\n", 16, "16"), "");
  EXPECT_THAT(grid_barrier("", "membar.gl;\n", 16, "16"), HasSubstr("a warp of another block wrote in line "));
}

TEST(Waits, for_what_never_comes) {
  EXPECT_THAT(grid_barrier("membar.gl;\n", "membar.gl;\n", 16, "17"),
              HasSubstr("waits in a loop for what no thread writes"));
}

TEST(Waits, who_counts_its_reads_does_not_wait) {
  EXPECT_EQ(said_of_threads("mov.u32 %w5, 5000;\n$L:\nld.volatile.global.u32 %ow, [%C];\nsub.u32 %w5, %w5, "
                            "1;\nsetp.ne.u32 %p3, %w5, 0;\n@%p3 bra $L;\n",
                            32, 2),
            "");
}

/// Blocks of one thread count by a load and a store, or by an atomic; the last one to count writes what the count came to.
TEST(Waits, a_count_by_load_and_store_loses_blocks) {
  const auto count = [](const std::string& body) {
    std::vector<std::uint64_t> a(4), o(4, 0);
    EXPECT_EQ(run_module(module_of(body), a, o, 4, 1).said, "");
    return o[0];
  };
  EXPECT_EQ(count("atom.global.add.u32 %w5, [%O], 1;\n"), 4U);
  EXPECT_EQ(count("ld.volatile.global.u32 %w5, [%O];\nadd.u32 %w5, %w5, 1;\nst.volatile.global.u32 [%O], %w5;\n"), 1U);
}

}  // namespace
}  // namespace flashproof::ptx
