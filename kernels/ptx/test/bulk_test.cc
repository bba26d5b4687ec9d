// cp.async.bulk: bytes arrive behind a look at their mbarrier, leave at the wait for their group, and who does not wait is told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

struct Ran {
  std::string said;
  std::vector<std::uint64_t> o;
};

/// Word i of the input is 1000 + i; %w1 is the thread's word of shared memory, which has 1024 bytes and an mbarrier of one arrival behind
/// them; %p1: it is thread 0.
Ran run(const std::string& body) {
  std::vector<std::uint64_t> a(256), o(256, 77);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1000 + i;
  Ran ran;
  ran.said = run_module(module_of(".shared .align 128 .b8 s[1032];\nmov.u32 %w1, s;\nshl.b32 %w2, %i, 3;\nadd.u32 %w1, "
                                  "%w1, %w2;\nsetp.eq.u32 %p1, %i, 0;\n@%p1 mbarrier.init.shared.b64 [s+1024], "
                                  "1;\nbar.sync 0;\n" +
                                  body),
                        a, o, 1, 64)
                 .said;
  ran.o = o;
  return ran;
}

constexpr const char* kExpect = "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [s+1024], 512;\n";
constexpr const char* kLoad =
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%A], 512, [s+1024];\n";
constexpr const char* kRead = "ld.shared.u64 %od, [%w1];\nadd.s64 %O, %O, %at;\nst.global.u64 [%O], %od;\n";
constexpr const char* kEarly = "which an asynchronous operation wrote in line";

std::string wait(int parity, const char* label = "$W") {
  return fmt::format("{0}:\nmbarrier.try_wait.parity.shared.b64 %p2, [s+1024], {1};\n@!%p2 bra {0};\n", label, parity);
}

TEST(BulkLoad, arrives_at_the_wait) {
  const Ran ran = run(std::string(kExpect) + kLoad + wait(0) + kRead);
  EXPECT_EQ(ran.said, "");
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(ran.o[i], 1000 + i);
  EXPECT_EQ(run(std::string(kLoad) + kExpect + wait(0) + kRead).said, "") << "the bytes are expected later";
}

TEST(BulkLoad, without_a_wait_it_has_not_arrived) {
  const Ran ran = run(std::string(kExpect) + kLoad + "bar.sync 0;\n" + kRead);
  EXPECT_THAT(ran.said, HasSubstr(kEarly));
  EXPECT_THAT(ran.said, HasSubstr("the block ends while this copy writes into its shared memory"));
  EXPECT_EQ(ran.o[0], ~0ULL);
  EXPECT_THAT(
      run(std::string(kExpect) + kLoad + "mbarrier.test_wait.parity.shared.b64 %p2, [s+1024], 0;\n" + kRead).said,
      HasSubstr(kEarly))
      << "one look is no wait";
}

TEST(BulkLoad, bytes_that_nobody_expects_and_bytes_that_never_come) {
  EXPECT_THAT(run("@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [s+1024], 528;\n" + std::string(kLoad) + wait(0)).said,
              HasSubstr("the mbarrier at 0x400: phase 0, 0 of 1 arrivals and 16 bytes are missing"));
  EXPECT_THAT(run("@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [s+1024], 496;\n" + std::string(kLoad) + wait(0)).said,
              HasSubstr("0 of 1 arrivals and -16 bytes are missing"));
}

TEST(BulkLoad, over_what_others_still_read_is_a_race) {
  const auto said = [](const char* between) {
    return run(std::string(kExpect) + kLoad + wait(0) + kRead + between + kExpect + kLoad + wait(1, "$V") + kRead).said;
  };
  EXPECT_EQ(said("bar.sync 0;\n"), "");
  EXPECT_THAT(said(""), HasSubstr("race: writes 512 bytes at 0x0 of shared memory asynchronously, which warp 0 read"));
}

TEST(BulkLoad, who_writes_there_before_it_has_arrived_races) {
  EXPECT_THAT(run(std::string(kExpect) + kLoad + "st.shared.u64 [%w1], %at;\n" + wait(0) + kRead).said,
              HasSubstr("which an asynchronous operation wrote in line"));
}

TEST(BulkLoad, findings_and_refusals) {
  const auto said = [](const std::string& to, const std::string& from, int bytes, const std::string& barrier) {
    return run(fmt::format("@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];\n",
                           to, from, bytes, barrier))
        .said;
  };
  EXPECT_THAT(said("s+8", "%A", 16, "s+1024"), HasSubstr("copies to or from 0x8, which is no multiple of 16"));
  EXPECT_THAT(said("s", "%A+8", 16, "s+1024"), HasSubstr("which is no multiple of 16"));
  EXPECT_THAT(said("s", "%A", 24, "s+1024"), HasSubstr("copies 24 bytes, legal: 16 to 1048560, a multiple of 16"));
  EXPECT_THAT(said("s", "%A", 0, "s+1024"), HasSubstr("copies 0 bytes"));
  EXPECT_THAT(said("s+1040", "%A", 16, "s+1024"), HasSubstr("copies 16 bytes to or from 0x410 of shared memory"));
  EXPECT_THAT(said("s", "%A", 16, "s"), HasSubstr("no mbarrier was initialised at 0x0"));
  EXPECT_THAT(said("s", "%A+2048", 16, "s+1024"), HasSubstr("in no array of the launch"));
  EXPECT_THAT(run("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%A], 16, "
                  "[s], %h1;\n")
                  .said,
              HasSubstr("no such instruction here: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                        "multicast::cluster"));
  EXPECT_THAT(run("cp.async.bulk.wait_group -1;\n").said, HasSubstr("operand 1: legal: 0 to"));
}

/// Each thread writes its word, thread 0 copies all of them out.
struct Stored {
  std::string fence = "fence.proxy.async.shared::cta;\n", meet = "bar.sync 0;\n";
  std::string store = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%O], [s], 512;\n";
  std::string commit = "cp.async.bulk.commit_group;\n", wait = "cp.async.bulk.wait_group 0;\n", after = "";
  Ran ran() const {
    return run("add.u64 %d1, %at, 5;\nst.shared.u64 [%w1], %d1;\n" + fence + meet + store + commit + wait + after);
  }
};

TEST(BulkStore, leaves_at_the_wait) {
  const Ran ran = Stored{}.ran();
  EXPECT_EQ(ran.said, "");
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(ran.o[i], 8 * i + 5);
  EXPECT_EQ(ran.o[64], 77U);
  EXPECT_EQ((Stored{.fence = "", .meet = "bar.sync 0;\nfence.proxy.async;\n"}).ran().said, "");
  EXPECT_EQ((Stored{.wait = "cp.async.bulk.wait_group.read 0;\n"}).ran().said, "");
}

TEST(BulkStore, of_what_no_fence_makes_visible_is_a_finding) {
  for (const char* fence : {"", "fence.acq_rel.cta;\n"})
    EXPECT_THAT(
        (Stored{.fence = fence}).ran().said,
        HasSubstr("race: reads 512 bytes at 0x0 of shared memory asynchronously, which warp 0 wrote in line 28, "
                  "and no fence.proxy.async lies between the two"));
  EXPECT_THAT((Stored{.meet = ""}).ran().said, HasSubstr("which an asynchronous operation read in line"));
}

TEST(BulkStore, without_a_wait_the_block_ends_too_early) {
  for (const Stored& stored :
       {Stored{.wait = ""}, Stored{.wait = "cp.async.bulk.wait_group 1;\n"}, Stored{.commit = ""}}) {
    const Ran ran = stored.ran();
    EXPECT_THAT(ran.said, HasSubstr("the block ends while this copy reads its shared memory"));
    EXPECT_EQ(ran.o[3], 29U);
  }
}

TEST(BulkStore, what_it_reads_is_not_overwritten_before_the_wait) {
  const std::string over = "st.shared.u64 [%w1], %O;\n";
  EXPECT_THAT((Stored{.wait = over, .after = "cp.async.bulk.wait_group 0;\n"}).ran().said,
              HasSubstr("which an asynchronous operation read in line"));
  EXPECT_EQ((Stored{.wait = "cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n", .after = over}).ran().said, "");
}

TEST(BulkStore, what_was_not_written_is_told) {
  EXPECT_THAT((Stored{.store = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%O], [s+16], 512;\n"}).ran().said,
              HasSubstr("of shared memory that were not all written before"));
}

}  // namespace
}  // namespace flashproof::ptx
