// printf and assert of device code: what nvcc makes of them, formats, hostile formats, limits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "kernels/ptx/run/print_format.h"
#include "kernels/ptx/test/form_runner.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kDriver = R"(.extern .func  (.param .b32 func_retval0) vprintf
(
.param .b64 vprintf_param_0,
.param .b64 vprintf_param_1
)
;
.extern .func __assertfail
(
.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e
)
;
)";

std::string bytes_of(const std::string& name, const std::string& text) {
  std::string list;
  for (const char c : text) list += fmt::format("{}, ", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return fmt::format(".global .align 1 .b8 {}[{}] = {{{}0}};\n", name, text.size() + 1, list);
}

/// Each thread has the f64 of its number + 0.5 at byte 8 of its arguments, the number at 0, the text "word" at 16.
RunResult printed(const std::string& format, const std::string& before = "", std::vector<std::uint64_t>* o = nullptr,
                  unsigned threads = 32) {
  std::string text = module_of(
      ".local .align 8 .b8 depot[64];\n.reg .b64 %q<9>;\n.reg .f64 %f<3>;\nmov.u64 %q1, depot;\ncvta.local.u64 %q2, "
      "%q1;\nst.local.u32 [%q1], %i;\ncvt.rn.f64.u32 %f1, %i;\nadd.rn.f64 %f1, %f1, 0d3FE0000000000000;\nst.local.f64 "
      "[%q1+8], %f1;\nmov.u64 %q3, $word;\ncvta.global.u64 %q3, %q3;\nst.local.u64 [%q1+16], %q3;\nmov.u64 %q4, "
      "$format;\ncvta.global.u64 %q4, %q4;\n" +
      before +
      "\n{\n.reg .b32 temp;\n.param .b64 param0;\nst.param.b64 [param0+0], %q4;\n.param .b64 param1;\nst.param.b64 "
      "[param1+0], %q2;\n.param .b32 retval0;\ncall.uni (retval0),\nvprintf,\n(\nparam0,\nparam1\n);\nld.param.b32 "
      "%w1, [retval0+0];\n}\nmul.wide.u32 %at, %i, 8;\nadd.s64 %O, %O, %at;\ncvt.u64.u32 %d1, %w1;\n"
      "st.global.u64 [%O], %d1;");
  text.insert(text.find(".visible"), kDriver + bytes_of("$format", format) + bytes_of("$word", "word"));
  std::vector<std::uint64_t> a(threads), mine(threads, 77);
  return run_module(text, a, o == nullptr ? mine : *o, 1, threads);
}

constexpr const char* kThree = "setp.ne.u32 %p1, %i, 3;\n@%p1 ret;";

TEST(Print, formats_the_arguments_of_each_lane) {
  std::vector<std::uint64_t> o(32, 77);
  const RunResult run = printed("%d: %.2f %s\n", "", &o);
  EXPECT_EQ(run.said, "");
  EXPECT_THAT(run.printed, StartsWith("0: 0.50 word\n1: 1.50 word\n2: 2.50 word\n"));
  EXPECT_THAT(run.printed, HasSubstr("31: 31.50 word\n"));
  EXPECT_EQ(o[5], 3U);
}

TEST(Print, of_lanes_that_are_there_and_what_is_no_instruction_is_not_counted) {
  const RunResult run = printed("%d\n", kThree), other = printed("%d of many more words than before\n", kThree);
  EXPECT_EQ(run.printed, "3\n");
  EXPECT_EQ(run.instructions, other.instructions);
}

/// Values behind each other, as a caller lays them out.
std::string text_of(const std::string& format, std::vector<std::uint64_t> values) {
  std::size_t next = 0;
  const PrintArguments arguments{[&](int) { return values.at(next++); },
                                 [](std::uint64_t, std::size_t most) { return std::string("words").substr(0, most); }};
  return formatted(format, arguments).text;
}

TEST(Print, conversions_are_those_of_c) {
  const std::uint64_t pi = std::bit_cast<std::uint64_t>(3.14159), minus = static_cast<std::uint64_t>(-5);
  EXPECT_EQ(text_of("%5.1f|%-8.3e|%+g|%a", {pi, pi, pi, std::bit_cast<std::uint64_t>(1.0)}),
            "  3.1|3.142e+00|+3.14159|0x1p+0");
  EXPECT_EQ(text_of("%d %u %lld %llu %hhd %hu", {minus, minus, minus, minus, 0x1ff, 0x1ffff}),
            "-5 4294967291 -5 18446744073709551611 -1 65535");
  EXPECT_EQ(text_of("%#x %08X %o %c%% %zu %p", {255, 255, 8, 'a', 1ULL << 40, 16}),
            "0xff 000000FF 10 a% 1099511627776 0x10");
  EXPECT_EQ(text_of("%*d|%-*d|%.*f|%.3s|%8s", {6, 42, 6, 42, 1, pi, 1, 1}), "    42|42    |3.1|wor|   words");
  EXPECT_EQ(text_of("%*d|%.*d|%s", {minus, 7, minus, 7, 0}), "7    |7|(null)");
}

TEST(Print, behind_the_32nd_argument_the_format_stands_as_it_is) {
  std::string format;
  for (int i = 0; i < 34; ++i) format += "%d ";
  const std::string text = text_of(format, std::vector<std::uint64_t>(32, 1));
  EXPECT_THAT(text, StartsWith("1 1 1 "));
  EXPECT_THAT(text, testing::EndsWith("1 %d %d "));
}

TEST(Print, hostile_formats_are_refused) {
  for (const char* bad :
       {"%n", "%hhn", "%", "%5", "%1$d", "%999999999d", "%.1025f", "%Lf", "%k", "%-+ #0-d", "%ls%q"}) {
    EXPECT_THROW(text_of(bad, {1, 1, 1}), UsageError) << bad;
  }
  EXPECT_THROW(text_of("%*d", {1025, 1}), UsageError);
  EXPECT_THROW(text_of("%*d", {0x80000000, 1}), UsageError);
  EXPECT_THAT(printed("%n").said, HasSubstr("printf: \"%n\" in its format, legal: "));
  EXPECT_THAT(printed(std::string(5000, 'x')).said, HasSubstr("a format of more than 4096 characters"));
  EXPECT_THAT(printed("%s", "mov.u64 %q5, 16;\nst.local.u64 [%q1+0], %q5;").said,
              HasSubstr("reads 1 bytes at 0x10, in no array of the launch"));
  EXPECT_THAT(printed("%f", "add.u64 %q2, %q2, 8192;").said, HasSubstr("of local memory, which has"));
  EXPECT_THAT(printed("%d", "mov.u64 %q4, 0;").said, "");
}

TEST(Print, neither_drives_a_terminal_nor_grows_without_end) {
  EXPECT_EQ(printed("a\x1b[2J\tb\n", kThree).printed, "a?[2J\tb\n");
  const RunResult run = printed(std::string(4000, 'x'), "", nullptr, 512);
  EXPECT_EQ(run.said, "");
  EXPECT_EQ(run.printed, std::string(1U << 20, 'x') +
                             "\n(999424 bytes more were printed: at most 1048576 of a launch are "
                             "kept)\n");
}

TEST(Assert, that_fails_is_a_finding_with_its_words_and_place) {
  std::string text = module_of(
      "setp.lt.u32 %p1, %i, 7;\n@%p1 bra $E;\n.reg .b64 %q<9>;\nmov.u64 %q1, $message;\ncvta.global.u64 %q1, "
      "%q1;\nmov.u64 %q2, $file;\ncvta.global.u64 %q2, %q2;\nmov.u64 %q3, $function;\ncvta.global.u64 %q3, %q3;\n{\n"
      ".param .b64 p0;\nst.param.b64 [p0], %q1;\n.param .b64 p1;\nst.param.b64 [p1], %q2;\n.param .b32 p2;\n"
      "st.param.b32 [p2], 42;\n.param .b64 p3;\nst.param.b64 [p3], %q3;\n.param .b64 p4;\nst.param.b64 [p4], 1;\n"
      "call.uni __assertfail, (p0, p1, p2, p3, p4);\n}\n$E:");
  text.insert(text.find(".visible"), kDriver + bytes_of("$message", "i < n && \"too far\"") +
                                         bytes_of("$file", "my.cu\x1b") + bytes_of("$function", "void f(float *)"));
  std::vector<std::uint64_t> a(32), o(32);
  EXPECT_THAT(run_module(text, a, o, 1, 32).said,
              HasSubstr("the assertion `i < n && \"too far\"' fails, my.cu?:42, void f(float *), in block (0, 0, 0), "
                        "thread (7, 0, 0)"));
  EXPECT_EQ(run_module(text, a, o, 1, 7).said, "");
}

TEST(DriverFunctions, are_checked_as_functions_are_and_may_be_defined_by_the_file) {
  const auto said = [](const std::string& body, const std::string& functions = kDriver) {
    std::string text = module_of(body);
    text.insert(text.find(".visible"), functions);
    std::vector<std::uint64_t> a(32), o(32);
    return run_module(text, a, o, 1, 32).said;
  };
  EXPECT_THAT(said("{\n.param .b64 p0;\ncall.uni vprintf, (p0);\n}"), HasSubstr("1 arguments, wanted 2"));
  EXPECT_THAT(said("{\n.param .b32 p0;\n.param .b32 r0;\ncall.uni (r0), vprintf, (p0, p0);\n}"),
              HasSubstr("arguments 1: a variable in .param of 8 bytes is wanted"));
  EXPECT_THAT(said("call.uni malloc, ();"), HasSubstr("'malloc' is no function of this file"));
  EXPECT_EQ(said("call.uni vprintf, ();", ".func vprintf() { ret; }\n"), "");
}

TEST(SpecialRegisters, of_the_environment_are_0) {
  std::vector<std::uint64_t> a(32), o(32, 77);
  const std::string end =
      "\nmul.wide.u32 %at, %i, 8;\nadd.s64 %O, %O, %at;\ncvt.u64.u32 %d1, %w1;\nst.global.u64 [%O], %d1;";
  EXPECT_EQ(run_module(module_of("mov.u32 %w1, %envreg2;" + end), a, o, 1, 32).said, "");
  EXPECT_EQ(o[9], 0U);
  EXPECT_THAT(run_module(module_of("mov.u32 %w1, %envreg32;" + end), a, o, 1, 32).said,
              HasSubstr("no special register"));
}

}  // namespace
}  // namespace flashproof::ptx
