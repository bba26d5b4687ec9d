// Every integer form against the host's arithmetic in a wider type.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

struct Kind {
  std::string name;
  int bits;
  bool is_signed;
  std::string in(int i) const { return fmt::format("%{}{}", bits == 16 ? "h" : bits == 32 ? "w" : "d", i); }
  std::string out() const { return bits == 16 ? "%oh" : bits == 32 ? "%ow" : "%od"; }
  std::uint64_t mask() const { return ~0ULL >> (64 - bits); }
  Wide value(std::uint64_t x) const {
    x &= mask();
    return is_signed && (x >> (bits - 1) & 1) != 0 ? static_cast<Wide>(x) - (static_cast<Wide>(1) << bits)
                                                   : static_cast<Wide>(x);
  }
};

const Kind kKinds[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                       {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

class Integer : public testing::TestWithParam<Kind> {
 protected:
  /// `form` of two operands; `result` of their values, taken modulo 2^width.
  void expect2(const std::string& form, Wide (*result)(Wide, Wide, const Kind&)) const {
    const Kind& kind = GetParam();
    expect_form(fmt::format("{} {}, {}, {};", form, kind.out(), kind.in(1), kind.in(2)), integer_inputs(kind.bits, 2),
                [&](const Input& in) {
                  return static_cast<std::uint64_t>(result(kind.value(in.a), kind.value(in.b), kind)) & kind.mask();
                });
  }
};

TEST_P(Integer, arithmetic_is_modulo_the_width) {
  const std::string& type = GetParam().name;
  expect2("add." + type, [](Wide a, Wide b, const Kind&) { return a + b; });
  expect2("sub." + type, [](Wide a, Wide b, const Kind&) { return a - b; });
  expect2("mul.lo." + type, [](Wide a, Wide b, const Kind& k) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)) &
           static_cast<Wide>(k.mask());
  });
  expect2("mul.hi." + type, [](Wide a, Wide b, const Kind& k) {
    if (k.bits == 64 && !k.is_signed)
      return static_cast<Wide>(static_cast<WideUnsigned>(a) * static_cast<WideUnsigned>(b) >> 64);
    return a * b >> k.bits;
  });
  expect2("min." + type, [](Wide a, Wide b, const Kind&) { return a < b ? a : b; });
  expect2("max." + type, [](Wide a, Wide b, const Kind&) { return a < b ? b : a; });
  expect2("div." + type, [](Wide a, Wide b, const Kind&) { return b == 0 ? static_cast<Wide>(-1) : a / b; });
  expect2("rem." + type, [](Wide a, Wide b, const Kind&) { return b == 0 ? static_cast<Wide>(-1) : a % b; });
}

TEST_P(Integer, mad) {
  const Kind& kind = GetParam();
  expect_form(fmt::format("mad.lo.{} {}, {}, {}, {};", kind.name, kind.out(), kind.in(1), kind.in(2), kind.in(3)),
              integer_inputs(kind.bits, 3), [&](const Input& in) { return (in.a * in.b + in.c) & kind.mask(); });
  if (kind.bits == 64) return;
  const Kind wide{"", 2 * kind.bits, kind.is_signed};
  expect_form(fmt::format("mul.wide.{} {}, {}, {};", kind.name, wide.out(), kind.in(1), kind.in(2)),
              integer_inputs(kind.bits, 2), [&](const Input& in) {
                return static_cast<std::uint64_t>(kind.value(in.a) * kind.value(in.b)) & wide.mask();
              });
  expect_form(fmt::format("mad.wide.{} {}, {}, {}, {};", kind.name, wide.out(), kind.in(1), kind.in(2), wide.in(3)),
              integer_inputs(kind.bits, 3), [&](const Input& in) {
                return (static_cast<std::uint64_t>(kind.value(in.a) * kind.value(in.b)) + in.c) & wide.mask();
              });
}

TEST_P(Integer, comparisons) {
  const Kind& kind = GetParam();
  const std::pair<const char*, bool (*)(Wide, Wide)> comparisons[] = {
      {"eq", [](Wide a, Wide b) { return a == b; }}, {"ne", [](Wide a, Wide b) { return a != b; }},
      {"lt", [](Wide a, Wide b) { return a < b; }},  {"le", [](Wide a, Wide b) { return a <= b; }},
      {"gt", [](Wide a, Wide b) { return a > b; }},  {"ge", [](Wide a, Wide b) { return a >= b; }}};
  for (const auto& [name, holds] : comparisons) {
    expect_form(fmt::format("setp.{}.{} %q, {}, {};", name, kind.name, kind.in(1), kind.in(2)),
                integer_inputs(kind.bits, 2),
                [&](const Input& in) -> std::uint64_t { return holds(kind.value(in.a), kind.value(in.b)); });
    expect_form(fmt::format("setp.{}.xor.{} %q, {}, {}, %p3;", name, kind.name, kind.in(1), kind.in(2)),
                integer_inputs(kind.bits, 3), [&](const Input& in) -> std::uint64_t {
                  return holds(kind.value(in.a), kind.value(in.b)) != ((in.c & 1) != 0);
                });
  }
  if (kind.is_signed) return;
  expect_form(fmt::format("setp.hi.{} %q, {}, {};", kind.name, kind.in(1), kind.in(2)), integer_inputs(kind.bits, 2),
              [&](const Input& in) -> std::uint64_t { return kind.value(in.a) > kind.value(in.b); });
  expect_form(fmt::format("setp.ls.{} %q, {}, {};", kind.name, kind.in(1), kind.in(2)), integer_inputs(kind.bits, 2),
              [&](const Input& in) -> std::uint64_t { return kind.value(in.a) <= kind.value(in.b); });
}

TEST_P(Integer, shifts_by_any_amount) {
  const Kind& kind = GetParam();
  const auto amount = [](const Input& in) { return std::min<std::uint64_t>(in.b & 0xffffffff, 100); };
  expect_form(
      fmt::format("shr.{} {}, {}, %w2;", kind.name, kind.out(), kind.in(1)), integer_inputs(kind.bits, 2, true),
      [&](const Input& in) { return static_cast<std::uint64_t>(kind.value(in.a) >> amount(in)) & kind.mask(); });
  expect_form(fmt::format("shl.b{} {}, {}, %w2;", kind.bits, kind.out(), kind.in(1)),
              integer_inputs(kind.bits, 2, true),
              [&](const Input& in) { return amount(in) > 63 ? 0 : in.a << amount(in) & kind.mask(); });
}

TEST_P(Integer, signs) {
  const Kind& kind = GetParam();
  if (!kind.is_signed) return;
  expect_form(fmt::format("abs.{} {}, {};", kind.name, kind.out(), kind.in(1)), integer_inputs(kind.bits, 1),
              [&](const Input& in) {
                return static_cast<std::uint64_t>(kind.value(in.a) < 0 ? -kind.value(in.a) : kind.value(in.a)) &
                       kind.mask();
              });
  expect_form(fmt::format("neg.{} {}, {};", kind.name, kind.out(), kind.in(1)), integer_inputs(kind.bits, 1),
              [&](const Input& in) { return static_cast<std::uint64_t>(-kind.value(in.a)) & kind.mask(); });
}

TEST_P(Integer, conversions_extend_by_the_sources_sign_and_saturate_on_request) {
  const Kind& from = GetParam();
  for (const Kind& to : kKinds) {
    expect_form(fmt::format("cvt.{}.{} {}, {};", to.name, from.name, to.out(), from.in(1)),
                integer_inputs(from.bits, 1),
                [&](const Input& in) { return static_cast<std::uint64_t>(from.value(in.a)) & to.mask(); });
    expect_form(fmt::format("cvt.sat.{}.{} {}, {};", to.name, from.name, to.out(), from.in(1)),
                integer_inputs(from.bits, 1), [&](const Input& in) {
                  const Wide high = to.is_signed ? static_cast<Wide>(to.mask() >> 1) : static_cast<Wide>(to.mask()),
                             low = to.is_signed ? -high - 1 : 0;
                  return static_cast<std::uint64_t>(std::min(std::max(from.value(in.a), low), high)) & to.mask();
                });
  }
}

INSTANTIATE_TEST_SUITE_P(all, Integer, testing::ValuesIn(kKinds), [](const auto& info) { return info.param.name; });

TEST(Bits, logic_counts_and_reversal) {
  for (const Kind& kind : {kKinds[2], kKinds[4]}) {
    const auto inputs = integer_inputs(kind.bits, 2);
    const auto form = [&](const std::string& name, const char* end) {
      return fmt::format("{}.b{} {}, {}{};", name, kind.bits, kind.out(), kind.in(1), end);
    };
    const std::string second = ", " + kind.in(2);
    expect_form(form("and", second.c_str()), inputs, [](const Input& in) { return in.a & in.b; });
    expect_form(form("or", second.c_str()), inputs, [](const Input& in) { return in.a | in.b; });
    expect_form(form("xor", second.c_str()), inputs, [](const Input& in) { return in.a ^ in.b; });
    expect_form(form("not", ""), inputs, [&](const Input& in) { return ~in.a & kind.mask(); });
    expect_form(fmt::format("popc.b{} %ow, {};", kind.bits, kind.in(1)), inputs,
                [](const Input& in) -> std::uint64_t { return std::popcount(in.a); });
    expect_form(fmt::format("clz.b{} %ow, {};", kind.bits, kind.in(1)), inputs,
                [&](const Input& in) -> std::uint64_t { return std::countl_zero(in.a) - (64 - kind.bits); });
    expect_form(form("brev", ""), inputs, [&](const Input& in) {
      std::uint64_t out = 0;
      for (int i = 0; i < kind.bits; ++i) out |= (in.a >> i & 1) << (kind.bits - 1 - i);
      return out;
    });
  }
}

TEST(Bits, fields) {
  const auto inputs = integer_inputs(32, 3, true);
  const auto bit = [](std::uint64_t a, std::uint64_t i) { return i > 31 ? 0 : a >> i & 1; };
  expect_form("bfe.u32 %ow, %w1, %w2, %w3;", inputs, [&](const Input& in) {
    std::uint64_t out = 0;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(in.c & 255, 32); ++i) out |= bit(in.a, (in.b & 255) + i) << i;
    return out;
  });
  expect_form("bfe.s32 %ow, %w1, %w2, %w3;", inputs, [&](const Input& in) {  // PTX ISA's pseudo code
    const std::uint64_t at = in.b & 255, length = in.c & 255;
    const std::uint64_t sign = length == 0 ? 0 : bit(in.a, std::min<std::uint64_t>(at + length - 1, 31));
    std::uint64_t out = 0;
    for (std::uint64_t i = 0; i < 32; ++i) out |= (i < length && at + i <= 31 ? bit(in.a, at + i) : sign) << i;
    return out;
  });
  expect_form("bfi.b32 %ow, %w1, %w2, %w3, 7;", inputs, [&](const Input& in) {
    std::uint64_t out = in.b;
    for (std::uint64_t i = 0; i < 7; ++i) {
      const std::uint64_t at = (in.c & 255) + i;
      if (at < 32) out = (out & ~(1ULL << at)) | (in.a >> i & 1) << at;
    }
    return out;
  });
}

std::uint64_t permuted(std::uint64_t a, std::uint64_t b, std::uint64_t selectors) {
  std::uint64_t out = 0;
  for (int k = 0; k < 4; ++k) {
    const std::uint64_t selector = selectors >> 4 * k & 15, byte = (a | b << 32) >> 8 * (selector & 7) & 255;
    out |= (selector < 8 ? byte : byte >> 7 ? 255 : 0) << 8 * k;
  }
  return out;
}

TEST(Bits, permutations) {
  const auto inputs = integer_inputs(32, 3);
  expect_form("prmt.b32 %ow, %w1, %w2, %w3;", inputs, [](const Input& in) { return permuted(in.a, in.b, in.c); });
  for (const unsigned selector :
       {0x3210U, 0x5410U, 0x7632U, 0x0123U, 0x4567U, 0xba98U, 0xfedcU, 0x3b19U, 0x0000U, 0xf0e5U, 0x10008321U}) {
    expect_form(fmt::format("prmt.b32 %ow, %w1, %w2, {};", selector), inputs,
                [&](const Input& in) { return permuted(in.a, in.b, selector); });
  }
  for (const int table : {0x96, 0xe8, 0x3c, 0x01, 0xff}) {
    expect_form(fmt::format("lop3.b32 %ow, %w1, %w2, %w3, {};", table), inputs, [&](const Input& in) {
      std::uint64_t out = 0;
      for (int i = 0; i < 32; ++i) {
        const std::uint64_t row = (in.a >> i & 1) << 2 | (in.b >> i & 1) << 1 | (in.c >> i & 1);
        out |= static_cast<std::uint64_t>(table >> row & 1) << i;
      }
      return out;
    });
  }
  for (const bool wraps : {false, true}) {
    const auto amount = [&](const Input& in) { return wraps ? in.c & 31 : std::min<std::uint64_t>(in.c, 32); };
    const char* mode = wraps ? "wrap" : "clamp";
    expect_form(fmt::format("shf.l.{}.b32 %ow, %w1, %w2, %w3;", mode), inputs,
                [&](const Input& in) { return (in.a | in.b << 32) << amount(in) >> 32; });
    expect_form(fmt::format("shf.r.{}.b32 %ow, %w1, %w2, %w3;", mode), inputs,
                [&](const Input& in) { return (in.a | in.b << 32) >> amount(in) & 0xffffffff; });
  }
  expect_form("add.sat.s32 %ow, %w1, %w2;", inputs, [](const Input& in) {
    const auto a = static_cast<std::int32_t>(in.a), b = static_cast<std::int32_t>(in.b);
    return static_cast<std::uint64_t>(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::int64_t{a} + b, INT32_MIN, INT32_MAX)));
  });
}

TEST(Moves, pack_unpack_and_select) {
  const auto inputs = integer_inputs(32, 3);
  expect_form("mov.b64 %od, {%w1, %w2};", inputs, [](const Input& in) { return in.a | in.b << 32; });
  expect_form("mov.b32 %ow, {%h1, %h2};", inputs,
              [](const Input& in) { return (in.a & 0xffff) | (in.b & 0xffff) << 16; });
  expect_form("mov.b64 %od, {%h1, %h2, %h3, %h1};", inputs, [](const Input& in) {
    return (in.a & 0xffff) | (in.b & 0xffff) << 16 | (in.c & 0xffff) << 32 | in.a << 48;
  });
  expect_form("mov.b32 {_, %oh}, %w1;", inputs, [](const Input& in) { return in.a >> 16; });
  expect_form("selp.b32 %ow, %w1, %w2, !%p3;", inputs, [](const Input& in) { return in.c & 1 ? in.b : in.a; });
  expect_form("mov.u32 %ow, 7;\n@%p1 mov.u32 %ow, %w2;", inputs, [](const Input& in) { return in.a & 1 ? in.b : 7; });
  expect_form("mov.b32 %w1, {%h2, %h1};\nmov.b32 {%h1, %oh}, %w1;", inputs,
              [](const Input& in) { return in.a & 0xffff; });
}

TEST(Predicates, logic) {
  const auto inputs = integer_inputs(16, 2);
  expect_form("and.pred %q, %p1, !%p2;", inputs, [](const Input& in) { return in.a & ~in.b & 1; });
  expect_form("or.pred %q, %p1, %p2;", inputs, [](const Input& in) { return (in.a | in.b) & 1; });
  expect_form("xor.pred %q, %p1, %p2;", inputs, [](const Input& in) { return (in.a ^ in.b) & 1; });
  expect_form("not.pred %q, %p1;", inputs, [](const Input& in) { return ~in.a & 1; });
  expect_form("mov.pred %q, -1;\n@%p1 mov.pred %q, 0;", inputs, [](const Input& in) { return ~in.a & 1; });
}

TEST(Integer, sums_of_several_words_carry) {
  // 128 bits in four words of 32: a = (w1, w2, w1, w2), b = (w3, w1, w2, w3)
  const auto wide = [](std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t w) {
    return static_cast<WideUnsigned>(w << 32 | z) << 64 | (y << 32 | x);
  };
  const auto inputs = integer_inputs(32, 3);
  for (const char* const op : {"add", "sub"}) {
    for (const int word : {0, 1, 2, 3}) {
      const std::string text = fmt::format(
          "{{ .reg .b32 r<4>; {0}.cc.u32 r0, %w1, %w3; {0}c.cc.u32 r1, %w2, %w1; {0}c.cc.u32 r2, %w1, %w2; {0}c.u32 "
          "r3, %w2, "
          "%w3; mov.b32 %ow, r{1}; }}",
          op, word);
      expect_form(text, inputs, [&](const Input& in) {
        const WideUnsigned a = wide(in.a, in.b, in.a, in.b), b = wide(in.c, in.a, in.b, in.c);
        const WideUnsigned result = op[0] == 'a' ? a + b : a - b;
        return static_cast<std::uint32_t>(result >> (32 * word));
      });
    }
  }
  expect_form(
      "{ .reg .b64 r<4>; mad.lo.cc.u64 r0, %d1, %d2, %d3; madc.hi.u64 r1, %d1, %d2, %d3; xor.b64 %od, r0, r1; }",
      integer_inputs(64, 3), [](const Input& in) {
        const WideUnsigned all =
            static_cast<WideUnsigned>(in.a) * in.b + (static_cast<WideUnsigned>(in.c) << 64 | in.c);
        return static_cast<std::uint64_t>(all) ^ static_cast<std::uint64_t>(all >> 64);
      });
}

TEST(Integer, a_carry_stays_in_lanes_whose_guard_is_false_and_in_its_block) {
  expect_form("add.cc.u32 %w4, %w1, %w1; @%p1 add.cc.u32 %w4, %w2, %w2; addc.u32 %ow, 0, 0;", integer_inputs(32, 2),
              [](const Input& in) { return (in.a & 1 ? in.b : in.a) >> 31; });
  std::vector<std::uint64_t> a(32), o(32);
  EXPECT_THAT(run_module(module_of("add.cc.u32 %w1, %w1, %w1;\n$L:\naddc.u32 %w1, 0, 0;"), a, o, 1, 32).said,
              testing::HasSubstr("addc.u32: no instruction with .cc before it in its block of code"));
}

TEST(Bits, fields_of_64_bits_and_masks) {
  const auto inputs = integer_inputs(64, 3, true);
  for (const bool is_signed : {false, true}) {
    expect_form(fmt::format("bfe.{}64 %od, %d1, %w2, %w3;", is_signed ? 's' : 'u'), inputs, [&](const Input& in) {
      const std::uint64_t at = in.b & 255, count = in.c & 255;
      const std::uint64_t sign = is_signed && count > 0 ? in.a >> std::min<std::uint64_t>(at + count - 1, 63) & 1 : 0;
      std::uint64_t out = 0;
      for (std::uint64_t i = 0; i < 64; ++i) out |= (i < count && at + i < 64 ? in.a >> (at + i) & 1 : sign) << i;
      return out;
    });
  }
  expect_form("bfi.b64 %od, %d1, %d2, %w3, %w2;", inputs, [](const Input& in) {
    std::uint64_t out = in.b;
    for (std::uint64_t i = 0; i < (in.b & 255) && (in.c & 255) + i < 64; ++i) {
      const std::uint64_t at = (in.c & 255) + i;
      out = (out & ~(1ULL << at)) | (in.a >> i & 1) << at;
    }
    return out;
  });
  for (const bool clamps : {true, false}) {
    expect_form(fmt::format("bmsk.{}.b32 %ow, %w1, %w2;", clamps ? "clamp" : "wrap"), integer_inputs(32, 2, true),
                [&](const Input& in) {
                  const std::uint64_t at = clamps ? in.a : in.a & 31, count = clamps ? in.b : in.b & 31;
                  std::uint64_t out = 0;
                  for (std::uint64_t i = 0; i < 32; ++i)
                    out |= static_cast<std::uint64_t>(i >= at && i - at < count) << i;
                  return out;
                });
  }
}

}  // namespace
}  // namespace flashproof::ptx
