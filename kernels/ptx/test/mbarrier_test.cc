// mbarriers: phases, counts, bytes, what they order; elect, bar.arrive and the cluster of one block.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

/// What is said of one thread with an mbarrier of two arrivals at s, and the 64 bits that it leaves in %od.
struct Ran {
  std::string said;
  std::uint64_t result = 0;
};
Ran run(const std::string& body) {
  std::vector<std::uint64_t> a(8), o(8, 77);
  Ran ran;
  ran.said = run_module(module_of(".shared .align 16 .b8 s[256];\nmbarrier.init.shared::cta.b64 [s], 2;\n" + body +
                                  "st.global.u64 [%O], %od;\n"),
                        a, o, 1, 1)
                 .said;
  ran.result = o[0];
  return ran;
}

std::string arrive(int count = 1) { return fmt::format("mbarrier.arrive.shared::cta.b64 %d1, [s], {};\n", count); }
/// Adds `bit` to the result if the wait is over.
std::string look(const std::string& wait, int bit) {
  return fmt::format("mbarrier.{};\nselp.u64 %d2, {}, 0, %p1;\nadd.u64 %od, %od, %d2;\n", wait, bit);
}
std::string look_at_parity(int parity, int bit) {
  return look(fmt::format("test_wait.parity.shared.b64 %p1, [s], {}", parity), bit);
}

TEST(Mbarrier, a_phase_is_over_when_all_have_arrived) {
  const std::string looks = look_at_parity(0, 1) + look_at_parity(1, 2);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + looks).result, 2U) << "the phase before the first one is over";
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + arrive() + looks).result, 2U);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + arrive() + arrive() + looks).result, 1U);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + arrive(2) + looks).result, 1U);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + arrive(2) + arrive(2) + looks).result, 2U);
}

TEST(Mbarrier, a_state_names_its_phase_and_what_was_missing) {
  const std::string by_state = look("try_wait.shared::cta.b64 %p1, [s], %d1, 1000", 1);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + arrive() + by_state).result, 0U);
  EXPECT_THAT(run("mov.u64 %od, 0;\n" + arrive() + "mbarrier.arrive.b64 %d3, [%d4];\n" + by_state).said,
              HasSubstr("an mbarrier at 0x0, outside of the 256 bytes of shared memory"));
  EXPECT_EQ(run("mov.u64 %od, 0;\nmov.u64 %d4, s;\ncvta.shared.u64 %d4, %d4;\n" + arrive() +
                "mbarrier.arrive.b64 %d3, [%d4];\n" + by_state)
                .result,
            1U);
  const std::string counts =
      "mbarrier.pending_count.b64 %w1, %d1;\nmbarrier.pending_count.b64 %w2, %d3;\nmad.lo.u32 %w1, %w1, 10, "
      "%w2;\ncvt.u64.u32 %od, %w1;\n";
  EXPECT_EQ(run(arrive() + "mbarrier.arrive.release.cta.shared::cta.b64 %d3, [s];\n" + counts).result, 21U);
  EXPECT_EQ(
      run("mbarrier.arrive.noComplete.shared.b64 %d1, [s], 1;\nmbarrier.arrive.shared.b64 %d3, [s];\n" + counts).result,
      21U);
}

TEST(Mbarrier, bytes_are_waited_for_whichever_comes_first) {
  const std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 64;\n",
                    come = "mbarrier.complete_tx.shared::cluster.b64 [s], 32;\n";
  const std::string looks = look_at_parity(0, 1);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + expect + arrive() + come + looks).result, 0U);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + expect + arrive() + come + come + looks).result, 1U);
  EXPECT_EQ(run("mov.u64 %od, 0;\n" + come + expect + come + looks + arrive() + look_at_parity(0, 2)).result, 2U);
  EXPECT_EQ(run("mov.u64 %od, 0;\nmbarrier.expect_tx.relaxed.cta.shared.b64 [s], 64;\n" + arrive(2) + looks + come +
                come + look_at_parity(0, 2))
                .result,
            2U);
}

TEST(Mbarrier, who_drops_out_is_waited_for_no_more) {
  EXPECT_EQ(run("mov.u64 %od, 0;\nmbarrier.arrive_drop.shared.b64 %d1, [s];\n" + arrive() + look_at_parity(0, 1) +
                arrive() + look_at_parity(1, 2))
                .result,
            3U);
}

TEST(Mbarrier, findings) {
  const auto expect = [](const std::string& body, const std::string& said) {
    EXPECT_THAT(run("mov.u64 %od, 0;\n" + body).said, HasSubstr(said)) << body;
  };
  expect(arrive(3), "3 arrivals at an mbarrier that 2 of 2 are missing of, legal: 1 to 2");
  expect(arrive(0), "0 arrivals at an mbarrier");
  expect("mbarrier.arrive.noComplete.shared.b64 %d1, [s], 2;\n", "legal: 1 to 1");
  expect("mbarrier.init.shared.b64 [s+8], 0;\n", "an mbarrier of 0 arrivals, legal: 1 to 1048575");
  expect("mbarrier.init.shared.b64 [s+8], 1048576;\n", "an mbarrier of 1048576 arrivals");
  expect("mbarrier.init.shared.b64 [s], 2;\n", "an mbarrier is initialised at 0x0, where there is one");
  expect("mbarrier.inval.shared.b64 [s];\n" + arrive(), "no mbarrier was initialised at 0x0 of shared memory");
  expect("mbarrier.init.shared.b64 [s+4], 2;\n", "an mbarrier at 0x4, which is no multiple of 8");
  expect("mbarrier.init.shared.b64 [s+256], 2;\n", "an mbarrier at 0x100, outside of the 256 bytes");
  expect("st.shared.u32 [s+4], 1;\n" + arrive(), "the mbarrier at 0x0 of shared memory was overwritten");
  expect("ld.shared.u64 %od, [s];\n", "reads 8 bytes at 0x0 of shared memory that were not all written before");
  expect("mbarrier.expect_tx.shared.b64 [s], 1048575;\nmbarrier.expect_tx.shared.b64 [s], 1;\n",
         "an mbarrier of 1048575 bytes under way and 1 more, legal: at most 1048575");
  EXPECT_EQ(run("mbarrier.inval.shared.b64 [s];\nmbarrier.init.shared.b64 [s], 1;\nmov.u64 %od, 0;\n").said, "");
  EXPECT_THAT(run("mbarrier.test_wait.acquire.gpu.shared.b64 %p1, [s], %d1;\n").said,
              HasSubstr("no such instruction here: mbarrier.test_wait.acquire.gpu.shared.b64"));
}

/// Warp 0 writes and arrives, warp 1 waits and reads.
struct Handed {
  std::string init = "setp.eq.u32 %p2, %n, 0;\n@%p2 mbarrier.init.shared.b64 [s+512], 32;\n", meet = "bar.sync 0;\n";
  std::string arrive = "mbarrier.arrive.shared.b64 _, [s+512];\n";
  std::string wait = "$W:\nmbarrier.try_wait.parity.shared.b64 %p3, [s+512], 0;\n@!%p3 bra $W;\n";
  std::string said() const {
    return said_of_threads(init + meet + "@!%p1 bra $R;\nst.shared.u32 [%w1], %n;\n" + arrive + "bra.uni $E;\n$R:\n" +
                           wait + "ld.shared.u32 %ow, [%w2];\n$E:\n");
  }
};

TEST(MbarrierOrder, an_arrival_comes_before_the_wait_that_it_ends) {
  EXPECT_EQ(Handed{}.said(), "");
  const std::string relaxed = "mbarrier.arrive.relaxed.cta.shared.b64 _, [s+512];\n";
  EXPECT_EQ((Handed{.arrive = "fence.acq_rel.cta;\n" + relaxed}).said(), "");
  EXPECT_THAT((Handed{.arrive = relaxed}).said(), HasSubstr("which warp 0 wrote in line "));
  const std::string wait = "$W:\nmbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, [s+512], 0;\n@!%p3 bra $W;\n";
  EXPECT_EQ((Handed{.wait = wait + "fence.acq_rel.cta;\n"}).said(), "");
  EXPECT_THAT((Handed{.wait = wait}).said(), HasSubstr("which warp 0 wrote in line "));
  EXPECT_THAT((Handed{.wait = ""}).said(), HasSubstr("which warp 0 wrote in line "));
}

TEST(MbarrierOrder, it_is_initialised_before_others_use_it) {
  EXPECT_THAT((Handed{.meet = ""}).said(), HasSubstr("an mbarrier that thread (0, 0, 0) initialised in line"));
}

TEST(MbarrierOrder, what_comes_behind_the_arrival_is_not_waited_for) {
  EXPECT_THAT(
      (Handed{.arrive = "mbarrier.arrive.shared.b64 _, [s+512];\nadd.u32 %w5, %n, 1;\nst.shared.u32 [%w1], %w5;\n"})
          .said(),
      HasSubstr("race"));
}

TEST(MbarrierOrder, a_wait_that_never_ends_names_the_state) {
  EXPECT_THAT((Handed{.init = "setp.eq.u32 %p2, %n, 0;\n@%p2 mbarrier.init.shared.b64 [s+512], 33;\n"}).said(),
              HasSubstr("waits in a loop for what no thread writes; the mbarrier at 0x200: phase 0, 1 of 33 arrivals "
                        "and 0 bytes are missing"));
  EXPECT_THAT((Handed{.wait = "bar.sync 1, 64;\n"}).said(),
              HasSubstr("wait at barrier 1 for threads that do not come; the mbarrier at 0x200: phase 1"));
}

TEST(Arrival, bar_arrive_goes_on_and_orders_what_came_before) {
  const auto said = [](const std::string& arrive) {
    return said_of_threads("@!%p1 bra $R;\nst.shared.u32 [%w1], %n;\n" + arrive +
                           "bra.uni $E;\n$R:\nbar.sync 1, 64;\nld.shared.u32 %ow, [%w2];\n$E:\n");
  };
  EXPECT_EQ(said("bar.arrive 1, 64;\n"), "");
  EXPECT_EQ(said("barrier.cta.arrive.aligned 1, 64;\n"), "");
  EXPECT_THAT(said("bar.arrive 1, 64;\nadd.u32 %w5, %n, 1;\nst.shared.u32 [%w1], %w5;\n"), HasSubstr("race"));
  EXPECT_THAT(said("bar.arrive 2, 64;\n"), HasSubstr("wait at barrier 1 for threads that do not come"));
}

TEST(Cluster, of_one_block) {
  const auto said = [](const std::string& arrive, const std::string& wait) {
    return said_of_threads("st.shared.u32 [%w1], %n;\n" + arrive + wait + "ld.shared.u32 %ow, [%w2];\n");
  };
  EXPECT_EQ(said("barrier.cluster.arrive.release.aligned;\n", "barrier.cluster.wait.acquire.aligned;\n"), "");
  EXPECT_THAT(said("barrier.cluster.arrive.relaxed.aligned;\n", "barrier.cluster.wait.acquire.aligned;\n"),
              HasSubstr("race"));
  EXPECT_THAT(said("", "barrier.cluster.wait;\n"), HasSubstr("wait at the barrier of the cluster for threads"));
  EXPECT_EQ(run("mov.u32 %w1, %cluster_ctarank;\nmov.u32 %w2, %cluster_nctarank;\nmov.u32 %w3, %cluster_ctaid.x;\n"
                "mov.u32 %w4, %cluster_nctaid.z;\nmov.u32 %w5, %nclusterid.x;\nmapa.shared::cluster.u32 %w6, 40, %w1;\n"
                "mad.lo.u32 %w1, %w1, 10, %w2;\nmad.lo.u32 %w1, %w1, 10, %w3;\nmad.lo.u32 %w1, %w1, 10, %w4;\n"
                "mad.lo.u32 %w1, %w1, 10, %w5;\nmad.lo.u32 %w1, %w1, 100, %w6;\ncvt.u64.u32 %od, %w1;\n")
                .result,
            101140U);
  EXPECT_THAT(run("mapa.shared::cluster.u32 %w6, s, 1;\n").said, HasSubstr("block 1 of the cluster, which has one"));
}

TEST(Elect, one_lane_of_its_mask) {
  std::vector<std::uint64_t> a(32), o(32, 77);
  EXPECT_EQ(run_module(module_of("setp.lt.u32 %p1, %i, 4;\n@%p1 bra $E;\nelect.sync %w1|%p2, 0xfffffff0;\nadd.u32 %w1, "
                                 "%w1, 100;\nselp.u32 %w1, %w1, 0, %p2;\ncvt.u64.u32 %od, %w1;\nadd.s64 %O, %O, "
                                 "%at;\nst.global.u64 [%O], %od;\n$E:\n"),
                       a, o, 1, 32)
                .said,
            "");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(o[i], i < 4 ? 77 : i == 4 ? 104 : 0) << i;
}

TEST(Elect, findings_and_refusals) {
  EXPECT_THAT(run("elect.sync %w1, -1;\n").said, HasSubstr("elect.sync: operand 1: legal: a register or _"));
  EXPECT_THAT(run("setmaxnreg.inc.sync.aligned.u32 241;\n").said,
              HasSubstr("241 registers, legal: 24 to 256, a multiple of 8"));
}

}  // namespace
}  // namespace flashproof::ptx
