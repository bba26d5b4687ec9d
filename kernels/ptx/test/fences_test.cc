// Fences and strong accesses: what they order between warps and blocks, and that a fence in the wrong place orders nothing. Every fault
// here is a right kernel with one thing changed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr const char* kOtherBlock = "race: reads 4 bytes at ";
constexpr const char* kWrote = "which a warp of another block wrote in line ";

/// The last block to take a ticket reads what a thread of the first one has written, as threadFenceReduction of NVIDIA's samples does.
struct Ticket {
  std::string fence = "membar.gl;\n";  // of each thread, behind its write
  std::string barrier = "bar.sync 0;\n";
  std::string before = "";  // of the thread that takes the ticket
  std::string take = "atom.global.add.u32 %w5, [%C+4], 1;\n";
  std::string after = "";
  std::string last = "";  // of each thread of the last block
  unsigned threads = 64;
  std::string ticket = "3";

  std::string said() const {
    return said_of_threads(
        "st.global.u32 [%O], %i;\n" + fence + barrier + "setp.ne.u32 %p2, %n, 0;\n@%p2 bra $W;\n" + before + take +
            after + "st.shared.u32 [s], %w5;\n$W:\nbar.sync 0;\nld.shared.u32 %w5, [s];\nsetp.ne.u32 %p3, %w5, " +
            ticket + ";\n@%p3 bra $E;\n" + last + "ld.global.u32 %ow, [%C+8];\n$E:\n",
        threads, 4);
  }
};

void expect_race(const std::string& said) {
  EXPECT_THAT(said, HasSubstr(kOtherBlock));
  EXPECT_THAT(said, HasSubstr(kWrote));
}

TEST(Fences, a_ticket_behind_a_fence_orders_blocks) {
  EXPECT_EQ(Ticket{}.said(), "");
  EXPECT_EQ((Ticket{.last = "membar.gl;\n"}).said(), "");
  EXPECT_EQ((Ticket{.fence = "fence.acq_rel.gpu;\n"}).said(), "");
  EXPECT_EQ((Ticket{.fence = "", .before = "membar.gl;\n", .after = "membar.gl;\n"}).said(), "")
      << "the fence of one thread is behind the barrier, and so behind the writes of all";
  for (const char* form : {"atom.acq_rel.gpu.global.add.u32", "atom.add.acq_rel.gpu.u32", "atom.inc.acq_rel.gpu.u32"})
    EXPECT_EQ(
        (Ticket{.fence = "", .take = form + std::string(" %w5, [%C+4], 9;\n"), .ticket = form[5] == 'i' ? "3" : "27"})
            .said(),
        "");
  EXPECT_EQ((Ticket{.fence = "",
                    .take = "red.release.gpu.global.add.u32 [%C+4], 1;\nld.acquire.gpu.u32 %w5, [%C+4];\n",
                    .ticket = "4"})
                .said(),
            "");
}

TEST(Fences, one_behind_the_ticket_orders_nothing) {
  expect_race(Ticket{.fence = ""}.said());
  expect_race(Ticket{.fence = "", .after = "membar.gl;\n"}.said());
  expect_race(Ticket{.fence = "", .last = "membar.gl;\n"}.said());
  expect_race(Ticket{.fence = "", .take = "atom.acquire.gpu.global.add.u32 %w5, [%C+4], 1;\n"}.said());
  expect_race(Ticket{.fence = "",
                     .take = "red.relaxed.gpu.global.add.u32 [%C+4], 1;\nmembar.gl;\nld.relaxed.gpu.u32 %w5, [%C+4];\n",
                     .ticket = "4"}
                  .said());
}

TEST(Fences, one_thread_does_not_fence_for_others_that_it_has_not_met) {
  const Ticket alone{.fence = "", .barrier = "", .before = "membar.gl;\n", .after = "membar.gl;\n"};
  expect_race(alone.said());
  Ticket warp = alone;
  warp.threads = 32;
  expect_race(warp.said());
  warp.barrier = "bar.warp.sync -1;\n";
  EXPECT_EQ(warp.said(), "");
}

TEST(Fences, a_scope_that_ends_at_the_block_orders_no_blocks) {
  expect_race(Ticket{.fence = "membar.cta;\n"}.said());
  expect_race(Ticket{.fence = "fence.acq_rel.cta;\n"}.said());
  expect_race(Ticket{.fence = "membar.cta;\n", .last = "membar.gl;\n"}.said());
  EXPECT_THAT((Ticket{.take = "atom.cta.global.add.u32 %w5, [%C+4], 1;\n"}).said(),
              HasSubstr("and of scope .cta neither is for the other's block"));
}

TEST(Fences, who_has_observed_the_tickets_may_put_the_counter_back) {
  EXPECT_EQ((Ticket{.last = "setp.ne.u32 %p2, %n, 0;\n@!%p2 st.global.u32 [%C+4], 0;\n"}).said(), "");
}

/// Blocks of one thread each: a block waits for the flag of the block before it, and the last one reads what the first one wrote.
std::string chain(const std::string& release, const std::string& acquire, const std::string& middle = "") {
  return said_of_threads(
      "mov.u32 %w4, %ctaid.x;\nst.global.u32 [%O], %i;\nsetp.eq.u32 %p2, %w4, 0;\n@%p2 bra $F;\n"
      "$S:\n" +
          acquire + "setp.eq.u32 %p3, %w5, 0;\n@%p3 bra $S;\n" + middle +
          "ld.global.u32 %ow, [%O+-8];\nsetp.ne.u32 %p3, %w4, 3;\n@%p3 bra $F;\nld.global.u32 %ow, "
          "[%C];\n$F:\n" +
          release,
      1, 4);
}

TEST(Fences, a_chain_of_blocks_knows_all_before_it) {
  const std::string flag = "st.volatile.global.u32 [%O+4], 1;\n", poll = "ld.volatile.global.u32 %w5, [%O+-4];\n";
  EXPECT_EQ(chain("membar.gl;\n" + flag, poll, "membar.gl;\n"), "");
  EXPECT_EQ(chain("st.release.gpu.global.u32 [%O+4], 1;\n", "ld.acquire.gpu.global.u32 %w5, [%O+-4];\n"), "");
  EXPECT_EQ(chain("membar.gl;\n" + flag, "ld.acquire.gpu.global.u32 %w5, [%O+-4];\n"), "");
  expect_race(chain(flag + "membar.gl;\n", poll, "membar.gl;\n"));
  expect_race(chain(flag, poll, "membar.gl;\n"));
  expect_race(chain("membar.gl;\n" + flag, poll));
  expect_race(chain("membar.gl;\n" + flag, poll, "membar.cta;\n"));
  expect_race(chain("st.release.cta.global.u32 [%O+4], 1;\n", "ld.acquire.gpu.global.u32 %w5, [%O+-4];\n"));
}

TEST(Fences, a_store_of_another_thread_ends_what_was_published) {
  const auto third = [](const std::string& second) {
    return said_of_threads(
        "mov.u32 %w4, %ctaid.x;\nsetp.eq.u32 %p2, %w4, 1;\n@%p2 bra $S;\nsetp.eq.u32 %p2, %w4, 2;\n@%p2 bra "
        "$T;\nst.global.u32 [%C], 1;\nmembar.gl;\nst.volatile.global.u32 [%C+8], 1;\nbra.uni $E;\n$S:\n" +
            second +
            "bra.uni $E;\n$T:\nld.volatile.global.u32 %w5, [%C+8];\nmembar.gl;\nld.global.u32 %ow, [%C];\n$E:\n",
        1, 3);
  };
  EXPECT_EQ(third("atom.global.exch.b32 %w5, [%C+8], 2;\n"), "") << "an atomic does not end it";
  expect_race(third("st.volatile.global.u32 [%C+8], 2;\n"));
}

/// A ticket among the warps of a block, in shared memory.
std::string warps(const std::string& before, const std::string& after) {
  return said_of_threads(
      "st.shared.u32 [s+512], 0;\nbar.sync 0;\nand.b32 %w4, %n, 31;\nsetp.ne.u32 %p2, %w4, 0;\n@%p2 bra "
      "$E;\nst.shared.u32 [%w1], %i;\n" +
          before + "atom.shared.add.u32 %w5, [s+512], 1;\n" + after +
          "setp.ne.u32 %p3, %w5, 1;\n@%p3 bra $E;\nld.shared.u32 %ow, [%w2];\n$E:\n",
      64, 2);
}

TEST(Fences, a_ticket_among_warps) {
  EXPECT_EQ(warps("membar.cta;\n", "membar.cta;\n"), "");
  EXPECT_EQ(warps("fence.acq_rel.cta;\n", "fence.acq_rel.cta;\n"), "");
  for (const auto& [before, after] : {std::pair{"", ""}, {"", "membar.cta;\n"}, {"membar.cta;\n", ""}})
    EXPECT_THAT(warps(before, after), HasSubstr("which warp 0 wrote in line ")) << before;
}

TEST(Fences, two_groups_at_one_barrier) {
  const auto groups = [](const std::string& number) {
    return said_of_threads(
        "shr.u32 %w4, %n, 6;\n" + number + "st.shared.u32 [%w1], %i;\nbar.sync %w4, 64;\nld.shared.u32 %ow, [%w2];\n",
        128);
  };
  EXPECT_EQ(groups("add.u32 %w4, %w4, 1;\n"), "");
  EXPECT_THAT(groups("mov.u32 %w4, 1;\n"),
              HasSubstr("barrier 1 is for 64 threads, and 128 wait at it: which of them go on together"));
}

}  // namespace
}  // namespace flashproof::ptx
