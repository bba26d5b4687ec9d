// Words of a command line -> parameters; what a listing says.
#include "kernels/ptx/run/arguments.h"
#include "kernels/ptx/test/form_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/ptx/listing.h"
#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 s, .param .align 8 .b8 more[16])
.reqntid 64
{
.reg .b32 %r<5>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [s]; ld.param.u32 %r4, [more+4];
mov.u32 %r1, %tid.x;
mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
ld.global.f32 %f2, [%rd4];
mul.f32 %f3, %f2, %f1;
cvt.rn.f32.u32 %f1, %r4; add.rn.f32 %f3, %f3, %f1;
st.global.f32 [%rd5], %f3;
ret;
}
.entry other(.param .u64 x) { .reg .b32 %r<3>; mma.sync %r1, %r2; ret; }
)";

std::string refusal(const std::vector<std::string>& words) {
  const Module module = parse("f.ptx", kText);
  try {
    const Arguments arguments(module.entries[0], words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Arguments, run_a_kernel) {
  const Module module = parse("f.ptx", kText);
  const Arguments arguments(module.entries[0],
                            {"in:f32:64:iota", "out:f32:64", "2.5", "hex:000000000a0000000000000000000000"});
  Program program(module, "scale", {.use_cache = false, .cache_folder = ""});
  EXPECT_TRUE(program.launch({{}, {64, 1, 1}, 0, arguments.parameters(), arguments.arrays()}).completed);
  EXPECT_EQ(arguments.outputs(3),
            "argument 2: 64 f32\n  [0] 10 (0x41200000)\n  [1] 12.5 (0x41480000)\n  [2] 15 (0x41700000)\n");
  EXPECT_THROW(program.launch({{}, {32, 2, 1}, 0, arguments.parameters(), arguments.arrays()}), UsageError)
      << "reqntid";
  EXPECT_THROW(program.launch({{}, {64, 1, 1}, 0, arguments.parameters().first(8), arguments.arrays()}), UsageError);
  EXPECT_THROW(program.launch({{1, 65536, 1}, {64, 1, 1}, 0, arguments.parameters(), arguments.arrays()}), UsageError);
}

TEST(Arguments, refusals_name_the_argument) {
  const std::string hex = "hex:00000000000000000000000000000000";
  EXPECT_EQ(refusal({"0", "0", "1", hex}), "");
  EXPECT_EQ(refusal({"0", "0", "1"}), "--arg: 3 given, scale has 4 parameters");
  EXPECT_THAT(refusal({"x", "0", "1", hex}), HasSubstr("argument 1 'x': an integer of 64 bits"));
  EXPECT_THAT(refusal({"18446744073709551616", "0", "1", hex}), HasSubstr("argument 1"));
  EXPECT_THAT(refusal({"0", "0", "one", hex}), HasSubstr("argument 3 'one': a number, of f32"));
  EXPECT_THAT(refusal({"0", "0", "in:f32:4:one", hex}), HasSubstr("the parameter has 4 bytes, a pointer 8"));
  EXPECT_THAT(refusal({"in:f16:4:one", "0", "1", hex}), HasSubstr("FORMAT f32, s32"));
  EXPECT_THAT(refusal({"in:f32:0:one", "0", "1", hex}), HasSubstr("argument 1"));
  EXPECT_THAT(refusal({"out:f32:4:one", "0", "1", hex}), HasSubstr("or out:FORMAT:COUNT, FORMAT"));
  EXPECT_THAT(refusal({"in:f32:99999999999:one", "0", "1", hex}), HasSubstr("at most 4294967296 bytes"));
  EXPECT_THAT(refusal({"in:f32:4:some", "0", "1", hex}), HasSubstr("FILL: zero, one, iota or random:SEED"));
  EXPECT_THAT(refusal({"0", "0", "1", "hex:00"}), HasSubstr("hex: and 16 bytes of two digits each"));
  EXPECT_THAT(refusal({"0", "0", "1", "hex:0000000000000000000000000000000g"}), HasSubstr("hexadecimal digits"));
  EXPECT_THAT(refusal({"0", "0", "1", "7"}), HasSubstr("a structure of 16 bytes is given as hex:..."));
}

TEST(Arguments, dimensions) {
  EXPECT_EQ(parse_dim("--grid", "8,2,3").count(), 48U);
  for (const char* wrong : {"", "0", "1,", "1,2,3,4", "-1", "4294967296", "x"})
    EXPECT_THROW(parse_dim("--grid", wrong), UsageError) << wrong;
}

TEST(Listing, says_what_a_launch_needs_and_what_is_not_known_here) {
  const std::string text = listing(parse("f.ptx", kText));
  EXPECT_THAT(text, HasSubstr("entry scale\n  parameters  u64, u64, f32, b8[16] (40 bytes)\n  block       64 x 1 x 1, "
                              "wanted\n  shared      0 bytes, and what the launch gives\n"));
  EXPECT_THAT(text, HasSubstr("rounding    1 additions and products without .rn"));
  EXPECT_THAT(text, HasSubstr("executable  yes\nentry other"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "executable  no: 1 instructions are not known here\n    f.ptx:18: no such instruction here: mma.sync\n"));
}

TEST(Listing, counts_what_ptxas_may_contract_in_every_float_format) {
  const std::string text = listing(
      parse("f.ptx", module_of("mul.f16x2 %w1, %w1, %w1;\nadd.f64 %d1, %d1, %d1;\nsub.bf16 %h1, %h1, %h1;\n"
                               "add.rn.f16 %h1, %h1, %h1;\nadd.u32 %w1, %w1, %w1;\nmul.ftz.f32 %w1, %w1, %w1;")));
  EXPECT_THAT(text, HasSubstr("rounding    4 additions and products without .rn"));
}

}  // namespace
}  // namespace flashproof::ptx
