// Races between lanes, warps and blocks: what orders two accesses, and what is told where nothing does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

/// 64 threads are two warps.
std::string said(const std::string& body, unsigned threads = 64, unsigned blocks = 1) {
  return said_of_threads(body, threads, blocks);
}

constexpr const char* kStore = "st.shared.u32 [%w1], %i;\n";
constexpr const char* kLoadOther = "ld.shared.u32 %ow, [%w2];\n";
constexpr const char* kBarrier = "bar.sync 0;\n";
constexpr const char* kNoBarrier = "and no barrier orders the two";

TEST(Races, a_barrier_orders_writes_before_reads_and_reads_before_writes) {
  EXPECT_EQ(said(std::string(kStore) + kBarrier + kLoadOther + kBarrier + kStore), "");
  const std::string late = said(kStore + std::string("@%p1 bra $L;\n") + kLoadOther + "$L:\n");
  EXPECT_THAT(late, HasSubstr("race: reads 4 bytes at 0x0 of shared memory, which warp 0 wrote in line "));
  EXPECT_THAT(late, HasSubstr(kNoBarrier));
  EXPECT_THAT(said(std::string(kStore) + kBarrier + kLoadOther + "add.u32 %i, %i, 1;\n" + kStore),
              HasSubstr(", which warp 0 read in line "));
}

TEST(Races, only_the_barrier_between_counts) {
  EXPECT_THAT(said(std::string(kBarrier) + "@!%p1 bra $L;\n" + kStore + "$L:\n@%p1 bra $M;\n" + kLoadOther + "$M:\n" +
                   kBarrier),
              HasSubstr(kNoBarrier));
}

TEST(Races, a_thread_is_ordered_by_itself) {
  EXPECT_EQ(said(std::string(kStore) + "ld.shared.u32 %ow, [%w1];\n" + kStore, 32), "");
  EXPECT_EQ(said(std::string(kStore) + "ld.shared.u32 %ow, [%w1];\n"), "") << "every warp has its own half";
}

/// %w2: here of the thread 4 further on.
TEST(Races, lanes_are_ordered_by_a_collective_alone) {
  const std::string neighbour =
      "add.u32 %w2, %w1, 4;\nand.b32 %w2, %w2, 127;\nmov.u32 %w3, s;\nadd.u32 %w2, %w2, %w3;\n";
  const std::string exchange = neighbour + kStore, read = kLoadOther;
  EXPECT_EQ(said(exchange + "bar.warp.sync -1;\n" + read + "bar.warp.sync -1;\nadd.u32 %i, %i, 1;\n" + kStore, 32), "");
  EXPECT_EQ(said(exchange + kBarrier + read, 32), "");
  EXPECT_EQ(said(exchange + "shfl.sync.bfly.b32 %w5, %i, 1, 31, -1;\n" + read, 32), "");
  const std::string early = said(exchange + read, 32);
  EXPECT_THAT(early, HasSubstr("race: reads 4 bytes at 0x4 of shared memory, which thread (1, 0, 0) wrote in line "));
  EXPECT_THAT(early, HasSubstr("and no bar.warp.sync orders the two"));
  EXPECT_THAT(said(exchange + "bar.warp.sync -1;\n" + read + "add.u32 %i, %i, 1;\n" + kStore, 32),
              HasSubstr("race: writes 4 bytes at 0x0 of shared memory, which thread (31, 0, 0) read in line "));
  EXPECT_EQ(said(exchange + "ld.volatile.shared.u32 %ow, [%w1];\n", 32), "") << "its own";
}

TEST(Races, one_instruction_of_several_lanes_is_none) {
  const std::string one = "mov.u32 %w4, s;\n";
  EXPECT_EQ(said(one + "st.shared.u32 [%w4], %i;\n", 32), "") << "one of the values is there afterwards";
  EXPECT_THAT(said(one + "st.shared.u32 [%w4], %i;\n@%p2 bra $L;\nsetp.ne.u32 %p3, %n, 3;\n@%p3 bra $L;\nst.shared.u32 "
                         "[%w4], 99;\n$L:\n"
                         "setp.ne.u32 %p3, %n, 4;\n@%p3 bra $M;\nld.shared.u32 %ow, [%w4];\n$M:\n",
                   32),
              HasSubstr("which thread (3, 0, 0) wrote in line "));
}

TEST(Races, a_barrier_of_others_orders_nothing) {
  // Of three warps the first two meet.
  const std::string meet = "setp.lt.u32 %p2, %n, 64;\n@%p2 bar.sync 1, 64;\n";
  const std::string first = "setp.ne.u32 %p3, %n, 0;\n@%p3 bra $W;\nst.shared.u32 [%w1], %i;\n$W:\n" + meet;
  const auto reads = [&](int thread) {
    return said(
        first + fmt::format("setp.ne.u32 %p3, %n, {};\n@%p3 bra $R;\nmov.u32 %w4, s;\nld.shared.u32 %ow, [%w4];\n$R:\n",
                            thread),
        96);
  };
  EXPECT_EQ(reads(40), "");
  EXPECT_THAT(reads(70), HasSubstr("warp 0 wrote in line "));
}

TEST(Races, what_a_warp_did_before_it_left_is_before_the_barrier) {
  const std::string other = kLoadOther;
  EXPECT_EQ(said(std::string(kStore) + "@!%p1 ret;\n" + kBarrier + other), "");
  EXPECT_THAT(said(std::string(kStore) + "@%p1 ret;\n" + other), HasSubstr("warp 0 wrote in line "));
}

TEST(Races, equal_stores_are_none) {
  const std::string all = "mov.u32 %w4, s;\n";
  EXPECT_EQ(said(all + "mov.u32 %w5, 7;\nst.shared.u32 [%w4], %w5;\nld.shared.u32 %ow, [%w4];\n"), "");
  EXPECT_THAT(said(all + "st.shared.u32 [%w4], %i;\n"),
              HasSubstr("race: writes 4 bytes at 0x0 of shared memory, which warp 0 wrote"));
}

/// Warp 0 stores, the first two warps meet, warp 1 stores the same again, and warp 2, which has met warp 0 alone, reads.
TEST(Races, an_equal_store_is_none_of_what_others_read_later) {
  const std::string store = "mov.u32 %w4, s;\nst.shared.u32 [%w4], 7;\n";
  const std::string text = "setp.lt.u32 %p2, %n, 64;\n@!%p1 bra $A;\n" + store +
                           "bar.sync 1, 64;\nbar.sync 2, 64;\nbra.uni $E;\n$A:\n" + "@!%p2 bra $B;\nbar.sync 1, 64;\n" +
                           store +
                           "bra.uni $E;\n$B:\nbar.sync 2, 64;\nmov.u32 %w4, s;\nld.shared.u32 "
                           "%ow, [%w4];\n$E:\n";
  EXPECT_EQ(said(text, 96), "");
}

TEST(Races, a_plain_store_over_what_a_volatile_load_still_reads) {
  EXPECT_THAT(
      said(std::string(kStore) + kBarrier + "ld.volatile.shared.u32 %ow, [%w2];\nadd.u32 %i, %i, 1;\n" + kStore),
      HasSubstr(", which warp 1 read in line "));
  EXPECT_EQ(said(std::string(kStore) + kBarrier +
                 "ld.volatile.shared.u32 %ow, [%w2];\nadd.u32 %i, %i, 1;\nst.volatile.shared.u32 [%w1], %i;\n"),
            "");
}

TEST(Races, halves_of_a_word_are_different_bytes) {
  const std::string halves =
      "mov.u32 %w4, s;\nselp.u32 %w5, 0, 2, %p1;\nadd.u32 %w4, %w4, %w5;\ncvt.u16.u32 %h1, %i;\n";
  EXPECT_EQ(said(halves + "setp.ne.u32 %p2, %n, 0;\nsetp.ne.u32 %p3, %n, 40;\nand.pred %p2, %p2, %p3;\n@%p2 bra "
                          "$L;\nst.shared.u16 [%w4], %h1;\n$L:\n"),
            "");
}

TEST(Races, atomics_are_none) {
  EXPECT_EQ(said("mov.u32 %w4, s;\nst.shared.u32 [%w4], 0;\nbar.sync 0;\natom.shared.add.u32 %ow, [%w4], 1;\n"), "");
  EXPECT_EQ(said("red.global.add.u32 [%C], 1;\n", 64, 4), "");
}

TEST(Races, blocks_are_not_ordered) {
  EXPECT_EQ(said("st.global.u32 [%O], %i;\n", 32, 4), "");
  EXPECT_EQ(said("ld.global.u32 %ow, [%A];\nst.global.u32 [%O], %ow;\n", 32, 4), "")
      << "what no block writes may be read by all";
  EXPECT_THAT(said("st.global.u32 [%C], %i;\n", 32, 2), HasSubstr("which a warp of another block wrote in line "));
  EXPECT_THAT(said("ld.global.u32 %ow, [%C+8];\nst.global.u32 [%O], %i;\n", 32, 2),
              HasSubstr("a warp of another block"));
}

TEST(Races, a_copy_into_what_others_still_read) {
  const std::string copy = "and.b32 %w4, %w1, -16;\ncp.async.ca.shared.global [%w1], [%A], 4;\ncp.async.wait_all;\n";
  EXPECT_EQ(said(copy + kBarrier + kLoadOther + kBarrier + copy), "");
  EXPECT_THAT(said(copy + kBarrier + kLoadOther + copy), HasSubstr(", which warp 0 read in line "));
  // The barrier in front of the wait does not order what arrives behind it.
  const std::string early = "@!%p1 bra $L;\ncp.async.ca.shared.global [%w1], [%A], 4;\n$L:\nbar.sync 0;\n";
  EXPECT_THAT(said(early + "@!%p1 bra $M;\ncp.async.wait_all;\n$M:\n@%p1 bra $N;\n" + kLoadOther + "$N:\n"),
              HasSubstr(", which warp 0 wrote in line "));
}

}  // namespace
}  // namespace flashproof::ptx
