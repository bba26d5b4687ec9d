// cp.async: bytes arrive at the wait for their group, or at that for the mbarrier that follows them, and who reads before is told.
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

/// Word i of the input is 1000 + i; %w1 is the thread's 16 bytes of shared memory, %A those of the input.
Ran run(const std::string& body, unsigned threads = 32) {
  std::vector<std::uint64_t> a(128), o(128, 77);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1000 + i;
  Ran ran;
  ran.said = run_module(module_of(".shared .align 16 .b8 s[1024];\nmov.u32 %w1, s;\nshl.b32 %w2, %i, 4;\nadd.u32 %w1, "
                                  "%w1, %w2;\nmul.wide.u32 %at, %i, 16;\nadd.s64 %A, %A, %at;\nadd.s64 %O, %O, %at;\n" +
                                  body),
                        a, o, 1, threads)
                 .said;
  ran.o = o;
  return ran;
}

constexpr const char* kCopy = "cp.async.cg.shared.global [%w1], [%A], 16;\n";
constexpr const char* kRead = "ld.shared.v2.u64 {%d1, %d2}, [%w1];\nst.global.v2.u64 [%O], {%d1, %d2};\n";
constexpr const char* kCommit = "cp.async.commit_group;\n";
constexpr const char* kEarly = "a cp.async writes which was not waited for";

std::string wait(int pending) { return fmt::format("cp.async.wait_group {};\n", pending); }

TEST(CopyAsync, arrives_at_the_wait) {
  for (const std::string& end : {kCommit + wait(0), std::string("cp.async.wait_all;\n")}) {
    const Ran ran = run(kCopy + end + kRead);
    EXPECT_EQ(ran.said, "");
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(ran.o[i], 1000 + i);
  }
}

TEST(CopyAsync, without_a_wait_that_covers_it_nothing_has_arrived) {
  for (const std::string& end : {std::string(), std::string(kCommit), wait(0), kCommit + wait(1)}) {
    const Ran ran = run(kCopy + end + kRead);
    EXPECT_THAT(ran.said, HasSubstr(kEarly)) << end;
    EXPECT_EQ(ran.o[0], ~0ULL) << "neither the old data nor the new";
  }
  EXPECT_THAT(run("st.shared.v2.u64 [%w1], {%at, %at};\n" + std::string(kCopy) + kRead).said, HasSubstr(kEarly))
      << "what was there before is no more";
}

TEST(CopyAsync, groups_arrive_in_their_order) {
  const std::string two =
      std::string(kCopy) + kCommit + "cp.async.ca.shared.global [%w1+512], [%A+512], 16;\n" + kCommit;
  const std::string second = "ld.shared.v2.u64 {%d1, %d2}, [%w1+512];\n";
  EXPECT_EQ(run(two + wait(1) + kRead).said, "");
  EXPECT_THAT(run(two + wait(1) + second).said, HasSubstr(kEarly));
  EXPECT_EQ(run(two + wait(0) + second + kRead).said, "");
  EXPECT_EQ(run(two + kCommit + wait(1) + second).said, "") << "an empty group is a group";
}

TEST(CopyAsync, of_every_size_with_zeros_behind_what_is_valid) {
  for (const unsigned bytes : {4U, 8U, 16U}) {
    for (unsigned valid = 0; valid <= bytes; ++valid) {
      std::string body =
          fmt::format("cp.async.ca.shared.global.L2::128B [%w1], [%A], {}, {};\ncp.async.wait_all;\n", bytes, valid);
      for (unsigned i = 0; i < bytes; ++i)
        body += fmt::format("ld.shared.u8 %w3, [%w1+{0}];\nst.global.u8 [%O+{0}], %w3;\n", i);
      std::vector<std::uint64_t> a(128, 0x8877665544332211), o(128, 0xabababababababab);
      EXPECT_EQ(run_module(
                    module_of(".shared .align 16 .b8 s[1024];\nmov.u32 %w1, s;\nshl.b32 %w2, %i, 4;\nadd.u32 %w1, %w1, "
                              "%w2;\nmul.wide.u32 %at, %i, 16;\nadd.s64 %A, %A, %at;\nadd.s64 %O, %O, %at;\n" +
                              body),
                    a, o, 1, 32)
                    .said,
                "");
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned got = o[2 * 31 + i / 8] >> (8 * (i % 8)) & 0xff;
        EXPECT_EQ(got, i >= bytes ? 0xab : i < valid ? 0x11 * (i % 8 + 1) : 0) << bytes << " " << valid << " " << i;
      }
    }
  }
}

TEST(CopyAsync, of_lanes_whose_guard_is_false_nothing_happens) {
  const Ran ran = run("st.shared.v2.u64 [%w1], {%at, %at};\nsetp.lt.u32 %p1, %i, 20;\n@%p1 " + std::string(kCopy) +
                      "cp.async.wait_all;\n" + kRead);
  EXPECT_EQ(ran.said, "");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[2 * i], i < 20 ? 1000 + 2 * i : 16 * i);
}

TEST(CopyAsync, a_barrier_is_no_wait) {
  const std::string neighbour = "xor.b32 %w1, %w1, 512;\n";
  EXPECT_THAT(run(std::string(kCopy) + kCommit + "bar.sync 0;\n" + neighbour + kRead, 64).said, HasSubstr(kEarly));
  EXPECT_EQ(run(std::string(kCopy) + kCommit + wait(0) + "bar.sync 0;\n" + neighbour + kRead, 64).said, "");
}

TEST(CopyAsync, findings_and_refusals) {
  EXPECT_THAT(run("add.u32 %w1, %w1, 8;\n" + std::string(kCopy)).said,
              HasSubstr("writes 16 bytes at 0x8, which is no multiple of 16"));
  EXPECT_THAT(run("add.u32 %w1, %w1, 528;\n" + std::string(kCopy)).said,
              HasSubstr("of shared memory, which has 1024 bytes"));
  EXPECT_THAT(run("cp.async.ca.shared.global [%w1], [%A+4], 8, 3;\n").said, HasSubstr("which is no multiple of 8"));
  EXPECT_THAT(run("add.s64 %A, %A, 528;\n" + std::string(kCopy)).said, HasSubstr("behind the end of array 0"));
  EXPECT_THAT(run("cp.async.cg.shared.global [%w1], [%A], 16, 17;\n").said,
              HasSubstr("copies 17 bytes, legal: 0 to 16"));
  EXPECT_EQ(run("mov.u64 %A, 3;\ncp.async.cg.shared.global [%w1], [%A], 16, 0;\n").said, "") << "nothing is read there";
  EXPECT_THAT(run("cp.async.cg.shared.global [%w1], [%A], 8;\n").said, HasSubstr("operand 3: 8 bytes, legal: 16"));
  EXPECT_THAT(run("cp.async.ca.shared.global [%w1], [%A], 12;\n").said, HasSubstr("legal: 4, 8 or 16"));
  EXPECT_THAT(run("cp.async.wait_group -1;\n").said, HasSubstr("operand 1: legal: 0 to"));
}

TEST(CopyAsync, without_any_wait_memory_does_not_grow) {
  EXPECT_EQ(run("mov.u32 %w4, 0;\n$L:\n" + std::string(kCopy) + kCommit +
                "add.u32 %w4, %w4, 1;\nsetp.lt.u32 %p1, %w4, 3000;\n@%p1 bra $L;\ncp.async.wait_all;\n" + kRead)
                .said,
            "");
}

/// Two warps; each thread copies its 16 bytes, does what `between` says, waits at an mbarrier of so many arrivals, and reads those of a
/// thread of the other warp.
Ran run_with_mbarrier(int arrivals, const std::string& between, const std::string& copy = kCopy,
                      const std::string& read = kRead) {
  return run(fmt::format(".shared .align 8 .b8 m[8];\nsetp.eq.u32 %p1, %i, 0;\n@%p1 mbarrier.init.shared.b64 [m], {};\n"
                         "bar.sync 0;\n{}{}$WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [m], 0;\n@!%p1 bra "
                         "$WAIT;\nxor.b32 %w1, %w1, 512;\n{}",
                         arrivals, copy, between, read),
             64);
}

constexpr const char* kFollowed = "cp.async.mbarrier.arrive.shared.b64 [m];\n";
constexpr const char* kFollowedNoInc = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m];\n";
constexpr const char* kArrive = "mbarrier.arrive.shared.b64 %d1, [m];\n";

TEST(CopyAsync, an_mbarrier_follows_the_copies) {
  const Ran of_expected = run_with_mbarrier(64, kFollowedNoInc),
            of_one_more = run_with_mbarrier(64, std::string(kFollowed) + kArrive),
            waited_for = run_with_mbarrier(64, kFollowedNoInc + std::string("cp.async.wait_all;\n"));
  for (const Ran& ran : {of_expected, of_one_more, waited_for}) {
    EXPECT_EQ(ran.said, "");
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(ran.o[i], 1000 + (i ^ 64)) << i;
  }
}

TEST(CopyAsync, an_mbarrier_that_follows_counts_what_it_expects) {
  EXPECT_THAT(run_with_mbarrier(65, kFollowedNoInc).said,
              HasSubstr("phase 0, 1 of 65 arrivals and 0 bytes are missing"));
  EXPECT_THAT(run_with_mbarrier(64, kFollowed).said, HasSubstr("phase 0, 64 of 64 arrivals"))
      << "each has added the one that it was";
  EXPECT_THAT(run_with_mbarrier(1048575, kFollowed).said,
              HasSubstr("one arrival more at an mbarrier that 1048575 are missing of"));
}

TEST(CopyAsync, an_mbarrier_passes_on_what_lies_before_it_alone) {
  EXPECT_THAT(run_with_mbarrier(64, kFollowedNoInc + std::string(kCopy), "").said, HasSubstr("race: "))
      << "the copy comes behind it";
  const std::string store = "st.shared.v2.u64 [%w1], {%at, %at};\n";
  EXPECT_EQ(run_with_mbarrier(64, store + kFollowedNoInc, "").said, "");
  EXPECT_THAT(run_with_mbarrier(64, kFollowedNoInc + store, "").said, HasSubstr("race: "));
  EXPECT_THAT(run_with_mbarrier(64, std::string(kArrive), kCopy).said, HasSubstr(kEarly)) << "a plain arrival";
}

TEST(CopyAsync, an_mbarrier_that_follows_must_be_there) {
  const std::string init = ".shared .align 8 .b8 m[8];\nmbarrier.init.shared.b64 [m], 1;\n";
  EXPECT_THAT(run(kCopy + std::string(".shared .align 8 .b8 m[8];\n") + kFollowed, 1).said,
              HasSubstr("no mbarrier was initialised"));
  EXPECT_THAT(run(init + kCopy + kFollowedNoInc + "mbarrier.inval.shared.b64 [m];\ncp.async.wait_all;\n", 1).said,
              HasSubstr("copies arrive whose mbarrier was invalidated before"));
}

}  // namespace
}  // namespace flashproof::ptx
