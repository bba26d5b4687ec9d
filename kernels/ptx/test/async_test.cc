// cp.async: bytes arrive at the wait for their group, and who reads before is told.
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

}  // namespace
}  // namespace flashproof::ptx
