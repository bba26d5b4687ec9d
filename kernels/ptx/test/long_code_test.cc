// What keeps compiling in bounds: long straight code in pieces, large forms once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/translate/cuts.h"
#include "kernels/ptx/translate/translate.h"

namespace flashproof::ptx {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

Translation translated(const std::string& body) {
  const Module module = parse("t", module_of(body));
  return translate(module, find_entry(module, "k"));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(LongCode, becomes_several_blocks) {
  const std::string line = "mad.lo.u32 %ow, %w1, 3, %ow;\n";
  const std::size_t before = translated(line).flow.blocks.size();
  EXPECT_EQ(translated(repeated(line, kMostStraight - 40)).flow.blocks.size(), before);
  EXPECT_EQ(translated(repeated(line, 3 * kMostStraight)).flow.blocks.size(), before + 3);
  // a label of its own counts anew
  const std::string half = repeated(line, kMostStraight * 2 / 3);
  EXPECT_EQ(translated(half + "$L:\n" + half).flow.blocks.size(), before + 1);
}

TEST(LongCode, computes_what_it_did) {
  expect_form("mov.u32 %ow, 1;\n" + repeated("mad.lo.u32 %ow, %ow, 3, %w1;\n", 2 * kMostStraight + 7),
              integer_inputs(32, 1), [](const Input& in) {
                std::uint32_t out = 1;
                for (std::size_t i = 0; i < 2 * kMostStraight + 7; ++i)
                  out = 3 * out + static_cast<std::uint32_t>(in.a);
                return out;
              });
}

TEST(LongCode, is_not_cut_before_a_carry) {
  const std::string sum = "add.cc.u32 %w4, %w4, %w1;\naddc.cc.u32 %w5, %w5, %w2;\naddc.u32 %w6, %w6, 0;\n";
  expect_form(
      "mov.u32 %w4, 0;\nmov.u32 %w5, 0;\nmov.u32 %w6, 0;\n" + repeated(sum, kMostStraight) + "mov.b64 %od, {%w5, %w6};",
      integer_inputs(32, 2), [](const Input& in) {
        const std::uint64_t low = in.a * kMostStraight;
        return in.b * kMostStraight + (low >> 32);
      });
}

TEST(LargeForms, are_functions_that_are_compiled_once) {
  const std::string sum = "add.rn.f16 %oh, %oh, %h1;\n";
  const std::string ir = translated(repeated(sum, 50)).ir, once = translated(sum).ir;
  EXPECT_EQ(count(ir, "define internal void @form_add.rn.f16("), 1U);
  EXPECT_EQ(count(ir, "call void @form_add.rn.f16("), 50U);
  EXPECT_LT(ir.size(), once.size() + 50 * 1000U);
  EXPECT_EQ(count(translated(repeated("add.u32 %ow, %ow, %w1;\n", 50)).ir, "@form_"), 0U);  // a call is dearer there
}

TEST(LargeForms, keep_what_lanes_have_whose_guard_is_false_and_take_numbers) {
  expect_form("mov.b16 %oh, %h2;\n@%p1 add.rn.f16 %oh, %h1, 0x0000;", integer_inputs(16, 2), [](const Input& in) {
    const bool is_nan = (in.a & 0x7fff) > 0x7c00;
    if ((in.a & 1) == 0) return in.b;
    return is_nan ? std::uint64_t{0x7fff} : in.a == 0x8000 ? 0 : in.a;
  });
}

}  // namespace
}  // namespace flashproof::ptx
