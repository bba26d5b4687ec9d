// Functions of the module: parameters and results, lanes that call from different places, calls in calls, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr const char* kFunctions = R"(.func (.param .b32 back) twice_and(.param .b32 x, .param .b64 y);
.func (.param .b32 back) square(.param .b32 x)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [x];
mul.lo.u32 %r2, %r1, %r1;
st.param.b32 [back+0], %r2;
ret;
}
.func (.param .b32 back) twice_and(.param .b32 x, .param .b64 y)
{
.reg .b32 %r<9>;
.reg .b64 %d<3>;
.reg .pred %p;
ld.param.u32 %r1, [x];
ld.param.u64 %d1, [y+0];
cvt.u32.u64 %r2, %d1;
setp.lt.u32 %p, %r1, 10;
@%p bra small;
{
.param .b32 p0;
st.param.b32 [p0], %r1;
.param .b32 r0;
call.uni (r0), square, (p0);
ld.param.b32 %r1, [r0];
}
@!%p st.param.b32 [back], %r1;
@!%p ret;
small:
mad.lo.u32 %r3, %r1, 2, %r2;
st.param.b32 [back], %r3;
}
.func (.param .align 8 .b8 back[16]) swapped(.param .align 16 .b8 pair[16])
{
.reg .b64 %d<3>;
ld.param.v2.u64 {%d1, %d2}, [pair];
st.param.u64 [back+8], %d1;
st.param.u64 [back], %d2;
}
.func nothing() { ret; }
.func leaves(.param .b32 x)
{
.reg .b32 %r;
.reg .pred %p;
ld.param.u32 %r, [x];
setp.gt.u32 %p, %r, 25;
@%p exit;
bar.warp.sync -1;
}
)";

struct Ran {
  std::string said;
  std::vector<std::uint64_t> o;
};

Ran run(const std::string& body, const std::string& functions = kFunctions, unsigned threads = 32) {
  std::string text = module_of(
      body + "\nmul.wide.u32 %at, %i, 8;\nadd.s64 %O, %O, %at;\ncvt.u64.u32 %d1, %ow;\nst.global.u64 [%O], %d1;");
  text.insert(text.find(".visible"), functions);
  std::vector<std::uint64_t> a(64), o(64, 77);
  Ran ran;
  ran.said = run_module(text, a, o, 1, threads).said;
  ran.o = o;
  return ran;
}

std::string call_of_square(const char* x, const char* to) {
  return fmt::format(
      "{{\n.param .b32 p0;\nst.param.b32 [p0+0], {};\n.param .b32 r0;\ncall.uni "
      "(r0),\nsquare,\n(\np0\n);\nld.param.b32 "
      "{}, [r0+0];\n}}\n",
      x, to);
}

TEST(Call, gives_arguments_and_takes_the_result) {
  const Ran ran = run("add.u32 %w1, %i, 1;\n" + call_of_square("%w1", "%w2") + call_of_square("%w2", "%ow") +
                      "add.u32 %ow, %ow, %w1;");
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], (i + 1) * (i + 1) * (i + 1) * (i + 1) + i + 1);
}

TEST(Call, lanes_that_call_from_different_places_return_there) {
  // each half calls at a place of its own, the upper one behind a loop of its own length; then they meet
  const Ran ran =
      run("setp.lt.u32 %p1, %i, 16;\n@%p1 bra $A;\nmov.u32 %w3, 0;\n$L:\n" + call_of_square("%w3", "%w4") +
          "add.u32 %w3, %w3, 1;\nsetp.lt.u32 %p2, %w3, %i;\n@%p2 bra $L;\nmov.u32 %ow, %w4;\nbra $E;\n$A:\n" +
          call_of_square("%i", "%ow") + "$E:\nshfl.sync.bfly.b32 %ow, %ow, 16, 31, -1;");
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], i < 16 ? (i + 15) * (i + 15) : (i - 16) * (i - 16));
}

TEST(Call, joins_its_lanes_before_those_that_went_around_it_go_on) {
  const Ran ran =
      run("setp.lt.u32 %p1, %i, 9;\n@%p1 bra $E;\n" + call_of_square("%i", "%w1") + "$E:\nactivemask.b32 %ow;");
  EXPECT_EQ(ran.said, "");
  EXPECT_EQ(ran.o[31], 0xffffffffU);
}

TEST(Call, functions_call_functions_and_return_under_guards) {
  const Ran ran =
      run("mov.u64 %d1, 1000;\n{\n.param .b32 p0;\nst.param.b32 [p0], %i;\n.param .b64 p1;\nst.param.b64 [p1], "
          "%d1;\n.param .b32 "
          "r0;\ncall (r0), twice_and, (p0, p1);\nld.param.b32 %ow, [r0];\n}");
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], i < 10 ? 2 * i + 1000 : i * i);
}

TEST(Call, passes_structures) {
  const Ran ran = run(
      "cvt.u64.u32 %d1, %i;\n{\n.param .align 16 .b8 p0[16];\nst.param.v2.u64 [p0], {%d1, 50};\n.param .align 8 .b8 "
      "r0[16];\ncall (r0), swapped, (p0);\nld.param.u64 %d2, [r0];\nld.param.u64 %d3, [r0+8];\n}\nsub.u64 %d2, %d2, "
      "%d3;\ncvt.u32.u64 %ow, %d2;\ncall nothing;\ncall.uni nothing, ();");
  EXPECT_EQ(ran.said, "");
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], 50 - i);
}

TEST(Call, under_a_guard_and_lanes_that_leave_inside) {
  const std::string call = " call leaves, (p0);\n}\n";
  const std::string before = "mov.u32 %ow, 5;\n{\n.param .b32 p0;\nst.param.b32 [p0], %i;\nsetp.ge.u32 %p1, %i, 20;\n";
  for (const char* guard : {"", "@%p1"}) {  // bar.warp.sync inside: lanes that have left are waited for no longer
    const Ran ran = run(before + guard + call);
    EXPECT_EQ(ran.said, "");
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(ran.o[i], i > 25 ? 77 : 5);
  }
  EXPECT_THAT(run(before + "@%p1" + call + "bar.sync 0;").said, HasSubstr("deadlock"));
}

TEST(Call, what_is_refused) {
  const auto said = [](const std::string& body, const std::string& functions = kFunctions) {
    return run(body, functions).said;
  };
  EXPECT_THAT(said("call unknown;"), HasSubstr("'unknown' is no function of this file"));
  EXPECT_THAT(said("call (%w1), square, (%w2);"), HasSubstr("arguments 1: a variable in .param of 4 bytes is wanted"));
  EXPECT_THAT(said("call square;"), HasSubstr("call of square: 0 arguments, wanted 1"));
  EXPECT_THAT(said("call %d1, ();"), HasSubstr("the name of a function is wanted"));
  EXPECT_THAT(said("{\n.param .b64 p0;\n.param .b32 r0;\ncall (r0), square, (p0);\n}"),
              HasSubstr("arguments 1: a variable in .param of 4 bytes"));
  EXPECT_THAT(said("{\n.param .b32 p0;\nst.param.u64 [p0], %d1;\n}"), HasSubstr("8 bytes at byte 0 of a parameter"));
  EXPECT_THAT(said("{\n.param .b32 p0;\nst.param.u32 [p0+-4], %w1;\n}"),
              HasSubstr("of a parameter, legal: inside its 4 bytes"));
  EXPECT_THAT(said("{\n.param .b32 p0;\nmov.u64 %d1, p0;\n}"),
              HasSubstr("a parameter of a function, is not known here"));
  EXPECT_THAT(said("st.param.u32 [n], %w1;"), HasSubstr("a parameter of a call, by its name, is wanted"));
  EXPECT_THAT(said("call a;", ".func b();\n.func a() { call b; }\n.func b() { call a; }\n"),
              HasSubstr("'a' calls itself"));
  std::string chain = ".func f0() { ret; }\n";
  for (int i = 1; i < 100; ++i) chain += fmt::format(".func f{}() {{ call f{}; }}\n", i, i - 1);
  EXPECT_THAT(said("call f99;", chain), HasSubstr("called too deeply"));
  EXPECT_EQ(said("mov.u32 %ow, 1;\ncall f50;", chain), "");
}

TEST(Barrier, whose_result_is_not_written_by_lanes_that_jump_behind_it) {
  const Ran ran =
      run("setp.lt.u32 %p1, %i, 32;\nsetp.ge.u32 %p2, %i, 0;\n@%p1 bra $J;\nbar.red.or.pred %p2, 1, 32, %p1;\n$J:\n"
          "selp.u32 %ow, 1, 2, %p2;",
          "", 64);
  EXPECT_EQ(ran.said, "");
  EXPECT_EQ(ran.o[0], 1U);
  EXPECT_EQ(ran.o[40], 2U);
}

}  // namespace
}  // namespace flashproof::ptx
