// Integer instructions that have no counterpart among the operators of C++.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

TEST(Bits, the_highest_one) {  // PTX ISA 9.7.1: bfind
  for (const int bits : {32, 64}) {
    for (const bool is_signed : {false, true}) {
      const std::uint64_t all = ~0ULL >> (64 - bits);
      const auto highest = [&](const Input& in) -> int {
        std::uint64_t x = in.a & all;
        if (is_signed && x >> (bits - 1) != 0) x = ~x & all;
        return x == 0 ? -1 : std::bit_width(x) - 1;
      };
      const std::string type = fmt::format("{}{} %ow, %{}1;", is_signed ? 's' : 'u', bits, bits == 32 ? 'w' : 'd');
      expect_form("bfind." + type, integer_inputs(bits, 1),
                  [&](const Input& in) -> std::uint64_t { return static_cast<std::uint32_t>(highest(in)); });
      expect_form("bfind.shiftamt." + type, integer_inputs(bits, 1), [&](const Input& in) -> std::uint64_t {
        return highest(in) < 0 ? 0xffffffff : static_cast<std::uint32_t>(bits - 1 - highest(in));
      });
    }
  }
}

TEST(Bytes, dot_products) {  // PTX ISA 9.7.1: dp4a
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const auto byte = [](std::uint64_t x, int i, bool is_signed) {
        const auto bits = static_cast<std::uint8_t>(x >> 8 * i);
        return is_signed ? static_cast<std::int64_t>(static_cast<std::int8_t>(bits)) : std::int64_t{bits};
      };
      expect_form(fmt::format("dp4a.{}.{} %ow, %w1, %w2, %w3;", a_signed ? "s32" : "u32", b_signed ? "s32" : "u32"),
                  integer_inputs(32, 3), [&](const Input& in) -> std::uint64_t {
                    auto sum = static_cast<std::int64_t>(in.c);
                    for (int i = 0; i < 4; ++i) sum += byte(in.a, i, a_signed) * byte(in.b, i, b_signed);
                    return static_cast<std::uint32_t>(sum);
                  });
    }
  }
}

TEST(Integers, sums_of_absolute_differences) {  // PTX ISA 9.7.1: sad
  expect_form("sad.u32 %ow, %w1, %w2, %w3;", integer_inputs(32, 3), [](const Input& in) -> std::uint64_t {
    return static_cast<std::uint32_t>((in.a < in.b ? in.b - in.a : in.a - in.b) + in.c);
  });
  expect_form("sad.s32 %ow, %w1, %w2, %w3;", integer_inputs(32, 3), [](const Input& in) -> std::uint64_t {
    const std::int64_t a = static_cast<std::int32_t>(in.a), b = static_cast<std::int32_t>(in.b);
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a < b ? b - a : a - b) + in.c);
  });
}

TEST(Registers, are_declared_without_a_space_too) {  // as cuda_fp16.hpp has it
  expect_form("{.reg.b32 f, g;\n mov.b32 f, %w1;\n add.u32 %ow, f, 1;}", integer_inputs(32, 1),
              [](const Input& in) { return (in.a + 1) & 0xffffffff; });
}

TEST(Hints, change_nothing) {
  const auto inputs = integer_inputs(64, 1);
  const auto same = [](const Input& in) { return in.a; };
  expect_form(
      "createpolicy.fractional.L2::evict_last.b64 %d5, 1.0;\n"
      "ld.global.L1::evict_last.L2::cache_hint.b64 %od, [%A], %d5;",
      inputs, same);
  expect_form(
      "createpolicy.fractional.L2::evict_first.b64 %d5;\n"
      "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v2.b32 {%w4, %w5}, [%A], %d5;\n"
      "mov.b64 %d6, {%w4, %w5};\nst.global.L2::cache_hint.b64 [%O], %d6, %d5;\nld.global.u64 %od, [%O];",
      inputs, same);
  expect_form("griddepcontrol.wait;\nld.global.L2::evict_last.b64 %od, [%A];\ngriddepcontrol.launch_dependents;",
              inputs, same);
}

}  // namespace
}  // namespace flashproof::ptx
