// Warps and blocks: divergence, meetings, shuffles, votes, barriers, and what never ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/test/form_runner.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr const char* kStore =
    "\nmul.wide.u32 %at, %i, 8;\nadd.s64 %O, %O, %at;\ncvt.u64.u32 %d1, %ow;\nst.global.u64 [%O], %d1;";

struct Ran {
  std::string said;
  std::vector<std::uint64_t> o;
};

Ran run(const std::string& body, unsigned threads = 32, std::int64_t max_instructions = 50'000'000,
        const char* end = kStore) {
  std::vector<std::uint64_t> a(1024), o(1024, 77);
  Ran ran;
  ran.said = run_module(module_of(body + end), a, o, 1, threads, 0, max_instructions).said;
  ran.o = o;
  return ran;
}

void expect_lanes(const Ran& ran, unsigned threads, std::uint64_t (*expected)(std::uint64_t lane)) {
  EXPECT_EQ(ran.said, "");
  for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(ran.o[i], expected(i)) << "lane " << i;
}

TEST(Warp, loops_end_for_each_lane_in_its_own_round) {
  expect_lanes(run("mov.u32 %w1, 0;\nmov.u32 %ow, 0;\n$L:\nadd.u32 %ow, %ow, %w1;\nadd.u32 %w1, %w1, 1;\nsetp.le.u32 "
                   "%p1, %w1, %i;\n@%p1 bra $L;"),
               32, [](std::uint64_t i) { return i * (i + 1) / 2; });
}

TEST(Warp, branches_join_again_behind_both_sides) {
  expect_lanes(run("and.b32 %w1, %i, 3;\nsetp.eq.u32 %p1, %w1, 2;\n@%p1 bra $A;\nsetp.eq.u32 %p2, %w1, 1;\n@%p2 bra "
                   "$B;\nmov.u32 %ow, 5;\nbra $C;\n"
                   "$B:\nmov.u32 %ow, 6;\nbra.uni $C;\n$A:\nmov.u32 %ow, 7;\n$C:\nactivemask.b32 %w2;\nsetp.ne.u32 "
                   "%p3, %w2, -1;\n@%p3 mov.u32 %ow, 99;"),
               32, [](std::uint64_t i) -> std::uint64_t { return i % 4 == 2   ? 7
                                                                 : i % 4 == 1 ? 6
                                                                              : 5; });
}

TEST(Warp, a_guard_that_its_instruction_writes_holds_for_both_results) {
  expect_lanes(run("setp.ge.u32 %p1, %i, 16;\nsetp.gt.u32 %p2, %i, 99;\n@%p1 setp.eq.u32 %p1|%p2, %i, "
                   "20;\nselp.u32 %ow, 1, 0, %p1;\n@%p2 add.u32 %ow, %ow, 2;"),
               32, [](std::uint64_t i) -> std::uint64_t { return i < 16    ? 0
                                                                 : i == 20 ? 1
                                                                           : 2; });
}

TEST(Warp, nested_scopes_have_labels_and_registers_of_their_own) {
  expect_lanes(run("mov.u32 %ow, 1;\n{\n.reg .b32 %ow;\n.reg .pred p;\nmov.u32 %ow, 9;\nsetp.eq.u32 p, %i, 0;\n@p bra "
                   "done;\nadd.u32 %ow, %ow, 1;\ndone:\n}\n"
                   "{\n.reg .pred p;\nsetp.eq.u32 p, %i, 1;\n@p bra done;\nadd.u32 %ow, %ow, 2;\ndone:\n}"),
               32, [](std::uint64_t i) -> std::uint64_t { return i == 1 ? 1 : 3; });
}

TEST(Warp, special_registers) {
  expect_lanes(run("mov.u32 %w1, %lanemask_lt;\npopc.b32 %ow, %w1;\nmov.u32 %w2, %laneid;\nsub.u32 %ow, %ow, "
                   "%w2;\nmov.u32 %w3, %warpid;\nadd.u32 %ow, %ow, %w3;\n"
                   "mov.u32 %w4, %nctaid.y;\nadd.u32 %ow, %ow, %w4;\nmov.u32 %w5, %lanemask_ge;\npopc.b32 %w5, "
                   "%w5;\nadd.u32 %ow, %ow, %w5;",
                   96),
               96, [](std::uint64_t i) { return i / 32 + 1 + 32 - i % 32; });
  EXPECT_THAT(run("mov.u32 %ow, %clock;").said,
              HasSubstr("'%clock' is no register of this entry and no special register here"));
}

TEST(Shuffle, exchanges_in_all_modes_and_segments) {
  struct Mode {
    const char* name;
    unsigned by, clamp;
  };
  for (const Mode& mode : {Mode{"bfly", 16, 31}, Mode{"bfly", 1, 31}, Mode{"bfly", 5, 31}, Mode{"bfly", 4, 0x181f},
                           Mode{"up", 1, 0}, Mode{"up", 3, 0x1800}, Mode{"down", 2, 31}, Mode{"down", 1, 0x181f},
                           Mode{"idx", 3, 31}, Mode{"idx", 9, 0x181f}, Mode{"idx", 31, 15}}) {
    const Ran ran =
        run(fmt::format("mad.lo.u32 %w1, %i, 3, 100;\nshfl.sync.{}.b32 %ow|%p1, %w1, {}, {}, -1;\nselp.u32 %w2, 1000, "
                        "0, %p1;\nadd.u32 %ow, %ow, %w2;",
                        mode.name, mode.by, mode.clamp));
    EXPECT_EQ(ran.said, "");
    for (int lane = 0; lane < 32; ++lane) {  // the PTX ISA's own pseudo code
      const int segment = mode.clamp >> 8 & 31, c = mode.clamp & 31, b = static_cast<int>(mode.by);
      const int most = (lane & segment) | (c & ~segment), least = lane & segment;
      const std::string name = mode.name;
      int j = name == "up" ? lane - b : name == "down" ? lane + b : name == "bfly" ? lane ^ b : least | (b & ~segment);
      const bool inside = name == "up" ? j >= most : j <= most;
      if (!inside) j = lane;
      EXPECT_EQ(ran.o[static_cast<std::size_t>(lane)], static_cast<std::uint64_t>(100 + 3 * j + (inside ? 1000 : 0)))
          << mode.name << mode.by << " lane " << lane;
    }
  }
}

TEST(Shuffle, members_wait_for_one_another_after_divergence) {
  // lanes take different ways to the same shuffle, the upper half by a loop of its own length
  expect_lanes(run("mov.u32 %w1, %i;\nsetp.lt.u32 %p1, %i, 16;\n@%p1 bra $J;\nmov.u32 %w2, 0;\n$L:\nadd.u32 %w2, %w2, "
                   "1;\nsetp.lt.u32 %p2, %w2, %i;\n@%p2 bra $L;\n$J:\n"
                   "shfl.sync.bfly.b32 %ow, %w1, 16, 31, -1;"),
               32, [](std::uint64_t i) { return i ^ 16; });
}

TEST(Shuffle, groups_with_masks_of_their_own_do_not_wait_for_each_other) {
  expect_lanes(run("setp.lt.u32 %p1, %i, 16;\nselp.b32 %w3, 0x0000ffff, 0xffff0000, %p1;\nmov.u32 %ow, %i;\n@%p1 bra "
                   "$S;\nshfl.sync.bfly.b32 %ow, %i, 1, 31, %w3;\nbra $E;\n"
                   "$S:\nshfl.sync.bfly.b32 %ow, %i, 2, 31, %w3;\n$E:"),
               32, [](std::uint64_t i) { return i < 16 ? i ^ 2 : i ^ 1; });
}

TEST(Shuffle, a_guarded_shuffle_is_for_the_guarded_lanes) {
  expect_lanes(run("setp.ge.u32 %p1, %i, 16;\nmov.u32 %ow, 5;\n@%p1 shfl.sync.bfly.b32 %ow, %i, 1, 31, 0xffff0000;"),
               32, [](std::uint64_t i) { return i < 16 ? 5 : i ^ 1; });
}

TEST(Shuffle, findings) {
  EXPECT_THAT(
      run("setp.lt.u32 %p1, %i, 8;\n@%p1 bra $E;\nshfl.sync.bfly.b32 %ow, %i, 1, 31, -1;\nbra $E;\n$E:\nbar.sync 0;")
          .said,
      HasSubstr("deadlock"));
  EXPECT_THAT(run("shfl.sync.idx.b32 %ow, %i, 3, 31, 0xfffffff7;").said,
              HasSubstr("the lane is no member of its mask 0xfffffff7"));
  EXPECT_THAT(run("shfl.sync.down.b32 %ow, %i, 1, 31, 0xffff;\n", 20).said, HasSubstr("no member"));
  EXPECT_THAT(run("shfl.sync.bfly.b32 %ow, %i, 16, 31, -1;", 20).said,
              HasSubstr("reads the register of a lane that does not take part: lanes 0xfff00000"));
  EXPECT_THAT(run("shfl.sync.down.b32 %ow, %i, 1, 31, -1;", 20).said, HasSubstr("lanes 0x00100000"));
}

TEST(Vote, counts_the_members_that_are_here) {
  expect_lanes(run("setp.lt.u32 %p1, %i, 5;\nvote.sync.ballot.b32 %ow, %p1, -1;"), 32,
               [](std::uint64_t) -> std::uint64_t { return 31; });
  expect_lanes(run("setp.lt.u32 %p1, %i, 5;\nvote.sync.any.pred %p2, %p1, -1;\nvote.sync.all.pred %p3, %p1, "
                   "-1;\nvote.sync.uni.pred %q, !%p1, -1;\nselp.u32 %ow, 1, 0, %p2;\n"
                   "@%p3 add.u32 %ow, %ow, 2;\n@%q add.u32 %ow, %ow, 4;"),
               32, [](std::uint64_t) -> std::uint64_t { return 1; });
  expect_lanes(run("setp.lt.u32 %p1, %i, 40;\nvote.sync.all.pred %p3, %p1, -1;\nvote.sync.uni.pred %q, %p1, "
                   "-1;\nselp.u32 %ow, 2, 0, %p3;\n@%q add.u32 %ow, %ow, 4;",
                   64),
               64, [](std::uint64_t i) -> std::uint64_t { return i < 32 ? 6 : 0; });
}

TEST(Reduction, redux_and_match) {
  expect_lanes(run("redux.sync.add.u32 %ow, %i, -1;"), 32, [](std::uint64_t) -> std::uint64_t { return 496; });
  expect_lanes(run("sub.u32 %w1, %i, 3;\nredux.sync.min.s32 %ow, %w1, -1;"), 32,
               [](std::uint64_t) -> std::uint64_t { return 0xfffffffd; });
  expect_lanes(run("sub.u32 %w1, %i, 3;\nredux.sync.min.u32 %ow, %w1, -1;"), 32,
               [](std::uint64_t) -> std::uint64_t { return 0; });
  expect_lanes(run("redux.sync.xor.b32 %ow, %i, -1;"), 20, [](std::uint64_t) -> std::uint64_t { return 0; });
  expect_lanes(run("and.b32 %w1, %i, 1;\nmatch.any.sync.b32 %ow, %w1, -1;"), 32,
               [](std::uint64_t i) -> std::uint64_t { return i % 2 == 0 ? 0x55555555 : 0xaaaaaaaa; });
}

TEST(Barrier, orders_the_warps_of_a_block) {
  // each warp reads what the one behind it has written, and the first one writes last
  const Ran ran =
      run(".shared .align 4 .b8 s[512];\nshl.b32 %w1, %i, 2;\nmov.u32 %w2, s;\nadd.u32 %w3, %w2, %w1;\nst.shared.u32 "
          "[%w3], %i;\nbar.sync 0;\nxor.b32 %w4, %w1, 384;\n"
          "add.u32 %w4, %w4, %w2;\nld.shared.u32 %ow, [%w4];",
          128);
  expect_lanes(ran, 128, [](std::uint64_t i) { return i ^ 96; });
}

TEST(Barrier, without_it_the_same_kernel_reads_what_is_not_written) {
  EXPECT_THAT(run(".shared .align 4 .b8 s[512];\nshl.b32 %w1, %i, 2;\nmov.u32 %w2, s;\nadd.u32 %w3, %w2, "
                  "%w1;\nst.shared.u32 [%w3], %i;\nxor.b32 %w4, %w1, 384;\n"
                  "add.u32 %w4, %w4, %w2;\nld.shared.u32 %ow, [%w4];",
                  128)
                  .said,
              HasSubstr("not all written before"));
}

TEST(Barrier, does_not_wait_for_threads_that_have_left) {
  expect_lanes(run("mov.u32 %ow, 1;\nsetp.ge.u32 %p1, %i, 40;\n@%p1 bra $E;\nbar.sync 0;\nbar.sync 1, 64;\n$E:", 64),
               40, [](std::uint64_t) -> std::uint64_t { return 1; });
}

TEST(Barrier, named_ones_are_apart_and_deadlock_is_a_finding) {
  EXPECT_THAT(run("setp.lt.u32 %p1, %i, 32;\n@%p1 bra $A;\nbar.sync 1;\nbra $E;\n$A:\nbar.sync 2;\n$E:", 64).said,
              HasSubstr("deadlock: lanes 0xffffffff wait at barrier 2"));
  EXPECT_EQ(run("setp.lt.u32 %p1, %i, 32;\n@%p1 bra $A;\nbar.sync 1, 32;\nbra $E;\n$A:\nbar.sync 2, 32;\n$E:\nmov.u32 "
                "%ow, 0;",
                64)
                .said,
            "");
  EXPECT_THAT(run("bar.sync 16;").said, HasSubstr("barrier 16, legal: 0 to 15"));
}

TEST(Barrier, reductions_over_the_block) {
  expect_lanes(run("setp.eq.u32 %p1, %i, 50;\nbar.red.or.pred %p2, 0, %p1;\nbar.red.and.pred %p3, 0, "
                   "!%p1;\nbar.red.popc.u32 %ow, 0, !%p1;\n@%p2 add.u32 %ow, %ow, 1000;\n@%p3 add.u32 %ow, %ow, 5000;",
                   96),
               96, [](std::uint64_t) -> std::uint64_t { return 1095; });
  expect_lanes(run("setp.lt.u32 %p1, %i, 500;\nbar.red.and.pred %p3, 0, %p1;\nselp.u32 %ow, 1, 0, %p3;", 96), 96,
               [](std::uint64_t) -> std::uint64_t { return 1; });
}

TEST(Barrier, whose_result_some_lanes_take_after_others_of_their_warp_have_come_to_the_next) {
  const char* const reduce = "barrier.cta.red.and.pred %q, 0, %p2;\nselp.u32 %ow, 1, 0, %q;\nbarrier.cta.sync 1;\n";
  expect_lanes(run(fmt::format("setp.ge.u32 %p1, %i, 16;\nsetp.ge.u32 %p2, %i, 0;\n@%p1 bra $B;\n{0}bra "
                               "$E;\n$B:\n{0}$E:",
                               reduce)),
               32, [](std::uint64_t) -> std::uint64_t { return 1; });
}

TEST(Limits, a_loop_without_end_ends) {
  EXPECT_THAT(run("$L:\nbra $L;", 32, 100'000, "").said, HasSubstr("more than 100000 instructions"));
  EXPECT_THAT(run("$L:\nbar.warp.sync -1;\nsetp.ge.u32 %p1, %i, 0;\n@%p1 bra $L;", 32, 100'000, "").said,
              HasSubstr("more than 100000 instructions"));
  EXPECT_THAT(run("$L:\nbar.sync 0;\nbra $L;", 128, 100'000, "").said, HasSubstr("more than 100000 instructions"));
  EXPECT_THAT(run("setp.eq.u32 %p1, %i, 3;\n$L:\n@%p1 bra $L;", 32, 100'000, "").said,
              HasSubstr("more than 100000 instructions"));
}

TEST(Limits, an_empty_grid_without_end_ends) {
  std::vector<std::uint64_t> a(4), o(4);
  EXPECT_THAT(run_module(module_of("exit;"), a, o, 2147483647, 1, 0, 1'000'000).said,
              HasSubstr("more than 1000000 instructions"));
}

TEST(Limits, trap_is_a_finding_of_the_lanes_that_reach_it) {
  EXPECT_THAT(run("setp.eq.u32 %p1, %i, 3;\n@%p1 trap;\nmov.u32 %ow, 0;").said,
              HasSubstr("trap, in block (0, 0, 0), thread (3, 0, 0)"));
  EXPECT_EQ(run("setp.eq.u32 %p1, %i, 99;\n@%p1 trap;\nmov.u32 %ow, 0;").said, "");
  EXPECT_THAT(run("setp.eq.u32 %p1, %i, 3;\n@%p1 brkpt;\nmov.u32 %ow, 0;").said,
              HasSubstr("brkpt, in block (0, 0, 0), thread (3, 0, 0)"));
}

TEST(Limits, instructions_are_counted_by_thread) {
  std::vector<std::uint64_t> a(4), o(4);
  const auto count = [&](const std::string& body, unsigned threads) {
    return run_module(module_of(body), a, o, 1, threads).instructions;
  };
  const std::uint64_t empty = count("", 1);
  EXPECT_EQ(count("", 7), 7 * empty);
  EXPECT_EQ(count("mov.u32 %w1, 0;\n$L:\nadd.u32 %w1, %w1, 1;\nsetp.lt.u32 %p1, %w1, 10;\n@%p1 bra $L;", 33),
            33 * (empty + 1 + 30));
}

TEST(Warp, an_interrupted_launch_ends) {
  Program program(parse("test.ptx", module_of("$L:\nadd.u32 %ow, %ow, 1;\nbra $L;")), "k",
                  {.use_cache = false, .cache_folder = ""});
  const std::vector<std::byte> parameters(static_cast<std::size_t>(program.entry().parameter_bytes));
  int asked = 0;
  Launch endless{
      .grid = {}, .block = {}, .parameters = parameters, .arrays = {}, .is_interrupted = [&] { return ++asked == 2; }};
  EXPECT_THROW(program.launch(endless), Interrupted);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace flashproof::ptx
