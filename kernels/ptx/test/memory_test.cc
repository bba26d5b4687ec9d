// What a wrong kernel gets: a finding with the line, and no byte outside of the launch's arrays touched.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The line of the body's first statement in the text of module_of().
int first_line() {
  const std::string text = module_of("HERE");
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, text.find("HERE")), '\n'));
}

struct Ran {
  std::string said;
  std::vector<std::uint64_t> o;
};

Ran run(const std::string& body, unsigned threads = 32, unsigned dynamic_shared = 0, unsigned blocks = 1) {
  std::vector<std::uint64_t> a(64), o(64, 77);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1000 + i;
  Ran ran;
  ran.said = run_module(module_of(body), a, o, blocks, threads, dynamic_shared).said;
  ran.o = o;
  return ran;
}

TEST(Memory, a_read_behind_an_array_is_a_finding_with_its_line_block_and_thread) {
  const Ran ran = run("add.s64 %A, %A, %at;\nld.global.u64 %d1, [%A+480];\nst.global.u64 [%O], %d1;");
  EXPECT_THAT(ran.said, StartsWith(fmt::format("test.ptx:{}: reads 8 bytes at 0x", first_line() + 1)));
  EXPECT_THAT(
      ran.said,
      HasSubstr("in no array of the launch (0 bytes behind the end of array 0), in block (0, 0, 0), thread (4, 0, 0)"));
  EXPECT_EQ(ran.o[0], 77U) << "nothing may be stored after the finding";
}

TEST(Memory, a_write_beside_an_array_is_not_done) {
  std::vector<std::uint64_t> a(8), o(64, 77);
  const std::string body = "add.s64 %O, %O, %at;\nst.global.u64 [%O+-8], %at;";
  EXPECT_THAT(run_module(module_of(body), a, o, 1, 32).said, HasSubstr("(8 bytes before array 3)"));
  EXPECT_EQ(std::ranges::count(o, 77U), 64);
}

TEST(Memory, an_input_that_is_read_only_cannot_be_written) {
  EXPECT_THAT(run("st.global.u32 [%B], %i;").said, HasSubstr("in array 1, which is read only"));
  EXPECT_THAT(run("atom.global.add.u32 %w1, [%B], 1;").said, HasSubstr("read only"));
}

TEST(Memory, misaligned) {
  EXPECT_THAT(run("ld.global.u32 %w1, [%A+2];").said, HasSubstr("which is no multiple of 4"));
  EXPECT_THAT(run("ld.global.v4.u32 {%w1, %w2, %w3, %w4}, [%A+8];\n").said, HasSubstr("which is no multiple of 16"));
}

TEST(Memory, an_address_near_the_end_of_the_address_space_does_not_wrap) {
  EXPECT_THAT(run("mov.u64 %A, -8;\nld.global.u64 %d1, [%A];").said, HasSubstr("in no array"));
  EXPECT_THAT(run("mov.u64 %A, -16;\nst.global.v2.u64 [%A], {%d1, %d2};").said, HasSubstr("in no array"));
  EXPECT_THAT(run("mov.u64 %A, 0;\nld.global.u64 %d1, [%A];").said, HasSubstr("in no array"));
}

constexpr const char* kShared = ".shared .align 8 .b8 s[256];\n";

TEST(Memory, shared_memory_ends_where_it_ends) {
  const std::string body = std::string(kShared) +
                           "mov.u32 %w1, s;\nshl.b32 %w2, %i, 3;\nadd.u32 %w1, %w1, %w2;\nst.shared.u64 [%w1+8], %at;";
  EXPECT_THAT(run(body).said, HasSubstr("writes 8 bytes at 0x100 of shared memory, which has 256 bytes"));
  EXPECT_EQ(run(body, 31).said, "");
}

TEST(Memory, shared_memory_that_was_never_written_is_told_and_reads_as_nan) {
  const Ran ran = run(std::string(kShared) +
                      "mov.u32 %w1, s;\nst.shared.u32 [%w1], 5;\nld.shared.u64 %d1, [%w1];\nst.global.u64 [%O], %d1;");
  EXPECT_THAT(ran.said, HasSubstr("reads 8 bytes at 0x0 of shared memory that were not all written before"));
  EXPECT_EQ(ran.o[0], 0xffffffff00000005U) << "the launch goes on";
}

TEST(Memory, shared_memory_of_the_last_block_is_not_seen_by_the_next) {
  const std::string body =
      std::string(kShared) +
      "mov.u32 %w1, s;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u64 [%w1], %at;\nld.shared.u64 %d1, [%w1];";
  EXPECT_THAT(run(body, 32, 0, 2).said, HasSubstr("in block (1, 0, 0)"));
}

TEST(Memory, dynamic_shared_memory_has_the_launchs_size) {
  const std::string body = "mov.u32 %w1, dyn;\nst.shared.u64 [%w1+56], %at;";
  std::string text = module_of(body);
  text.insert(text.find(".visible"), ".extern .shared .align 16 .b8 dyn[];\n");
  std::vector<std::uint64_t> a(4), o(4);
  EXPECT_EQ(run_module(text, a, o, 1, 1, 64).said, "");
  EXPECT_THAT(run_module(text, a, o, 1, 1, 48).said, HasSubstr("which has 48 bytes"));
  EXPECT_THAT(run_module(text, a, o, 1, 1, 1 << 20).said,
              HasSubstr("dynamic shared bytes: 1048576, legal: 0 to 232448"));
}

TEST(Memory, generic_addresses_reach_shared_and_local_memory) {
  const std::string body = std::string(kShared) +
                           ".local .align 8 .b8 l[16];\n"
                           "mov.u64 %d1, s;\ncvta.shared.u64 %d1, %d1;\nst.u64 [%d1], 11;\nld.shared.u64 %d2, "
                           "[s];\nmov.u64 %d3, l;\ncvta.local.u64 %d3, %d3;\n"
                           "st.u64 [%d3+8], %at;\nmov.u64 %d4, l;\nld.local.u64 %d4, [%d4+8];\nadd.u64 %d2, %d2, "
                           "%d4;\nisspacep.shared %p1, %d1;\nisspacep.global %p2, %d1;\n"
                           "isspacep.local %p3, %d3;\nselp.u64 %d5, 100000, 0, %p1;\nadd.u64 %d2, %d2, %d5;\n@%p2 "
                           "add.u64 %d2, %d2, 1;\n@!%p3 add.u64 %d2, %d2, 1;\n"
                           "add.s64 %O, %O, %at;\nst.u64 [%O], %d2;";
  const Ran ran = run(body);
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], 100011 + 8 * i);
  EXPECT_THAT(run(".local .align 8 .b8 l[16];\nmov.u64 %d3, l;\nst.local.u64 [%d3+16], %at;").said,
              HasSubstr("of local memory, which has 16 bytes"));
}

TEST(Memory, vectors_gathers_and_partial_warps) {
  const std::string body =
      "xor.b32 %w1, %i, 5;\nmul.wide.u32 %d1, %w1, 16;\nadd.s64 %A, %A, %d1;\nsetp.lt.u32 %p1, %i, 20;\n"
      "mov.u64 %d2, 1;\nmov.u64 %d3, 2;\n@%p1 ld.global.v2.u64 {%d2, %d3}, [%A];\nadd.u64 %d2, %d2, %d3;\nadd.s64 %O, "
      "%O, %at;\nst.global.u64 [%O], %d2;";
  const Ran ran = run(body);
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], i < 20 ? 2001 + 4 * (i ^ 5) : 3);
}

TEST(Memory, bytes_are_extended_by_sign) {
  const Ran ran =
      run("add.s64 %A, %A, 0;\nld.global.s8 %w1, [%A];\nld.global.u8 %w2, [%A];\ncvt.s64.s32 %d1, %w1;\nst.global.u64 "
          "[%O], %d1;\nst.global.u8 [%O+8], %w2;");
  EXPECT_EQ(ran.said, "");
  EXPECT_EQ(ran.o[0], 0xffffffffffffffe8U);  // 1000 = 0x3e8
  EXPECT_EQ(ran.o[1], 0xe8U);
}

TEST(Memory, atomics_of_a_warp_take_their_turns) {
  const Ran ran =
      run("setp.eq.u32 %p1, %i, 0;\n@%p1 st.global.u64 [%O], 0;\natom.global.add.u32 %w1, [%O], 2;\nred.global.max.u32 "
          "[%O+4], %i;\n"
          "mul.wide.u32 %d1, %i, 8;\nadd.s64 %O, %O, %d1;\ncvt.u64.u32 %d2, %w1;\nsetp.gt.u32 %p2, %i, 1;\n@%p2 "
          "st.global.u64 [%O], %d2;");
  EXPECT_EQ(ran.said, "");
  EXPECT_EQ(ran.o[0], 64 | 31ULL << 32);
  for (std::uint64_t i = 2; i < 32; ++i) EXPECT_EQ(ran.o[i], 2 * i);
}

TEST(Memory, atomic_kinds) {
  const auto after = [&](const std::string& operation, std::uint64_t before) {
    std::vector<std::uint64_t> a(4), o(4, before);
    EXPECT_EQ(run_module(module_of(operation), a, o, 1, 1).said, "") << operation;
    return o[0];
  };
  EXPECT_EQ(after("atom.global.cas.b32 %w1, [%O], 7, 9;", 7), 9U);
  EXPECT_EQ(after("atom.global.cas.b64 %d1, [%O], 8, 9;", 7), 7U);
  EXPECT_EQ(after("atom.global.exch.b64 %d1, [%O], 3;", 7), 3U);
  EXPECT_EQ(after("atom.global.inc.u32 %w1, [%O], 7;", 7), 0U);
  EXPECT_EQ(after("atom.global.dec.u32 %w1, [%O], 7;", 0), 7U);
  EXPECT_EQ(after("atom.global.min.s32 %w1, [%O], -1;", 7), 0xffffffffU);
  EXPECT_EQ(after("atom.global.min.u32 %w1, [%O], -1;", 7), 7U);
  EXPECT_EQ(after("red.global.add.f32 [%O], 0f3f800000;", 0x3f800000), 0x40000000U);
  EXPECT_EQ(after("red.global.add.f32 [%O], 0f80000000;", 0x00000001), 0U) << "global sums flush subnormals";
  EXPECT_EQ(after("red.global.add.f32 [%O], 0f7fc00000;", 0), 0x7fffffffU);
}

TEST(Memory, variables_of_the_module) {
  std::string text = module_of(
      "ld.const.u32 %w1, [table+4];\nmov.u64 %d1, counter;\ncvta.global.u64 %d1, %d1;\nld.u32 %w2, [%d1];\nadd.u32 "
      "%w2, %w2, %w1;\n"
      "st.global.u32 [counter], %w2;\nld.global.u32 %w3, [counter];\ncvt.u64.u32 %d2, %w3;\nst.global.u64 [%O], %d2;");
  text.insert(text.find(".visible"),
              ".const .align 4 .u32 table[3] = {1, 40, 3};\n.global .align 4 .u32 counter = 2;\n");
  std::vector<std::uint64_t> a(4), o(4);
  EXPECT_EQ(run_module(text, a, o, 1, 1).said, "");
  EXPECT_EQ(o[0], 42U);
  std::string writes = module_of("mov.u64 %d1, table;\nst.u32 [%d1], 5;");
  writes.insert(writes.find(".visible"), ".const .align 4 .u32 table[3] = {1, 40, 3};\n");
  EXPECT_THAT(run_module(writes, a, o, 1, 1).said, HasSubstr("in table, which is read only"));
}

TEST(Memory, parameters_are_read_inside_only) {
  EXPECT_THAT(run("ld.param.u64 %d1, [n+4];").said, HasSubstr("8 bytes at byte 36 of the parameters"));
  EXPECT_THAT(run("ld.param.u32 %w1, [a+0x7ffffffffffffffc];").said, HasSubstr("of the parameters, legal: inside"));
  EXPECT_THAT(run("ld.param.u32 %w1, [b+0x7ffffffffffffffc];").said, HasSubstr("of the parameters, legal: inside"));
  EXPECT_THAT(run("ld.param.u32 %w1, [b+-12];").said, HasSubstr("4 bytes at byte -4 of the parameters"));
  EXPECT_THAT(run("mov.u64 %d1, a;\nld.param.u64 %d2, [%d1+40];").said,
              HasSubstr("of the parameters, which has 36 bytes"));
}

}  // namespace
}  // namespace flashproof::ptx
