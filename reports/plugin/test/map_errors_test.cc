// Wrong maps: one line that names the key and what is legal, before anything is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels/ptx/map/mapped_kernel.h"
#include "kernels/ptx/map/names.h"
#include "kernels/ptx/map/trial.h"
#include "kernels/ptx/parse/parser.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"
#include "reports/plugin/declared_by.h"
#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry one(.param .u64 a, .param .u32 b, .param .f32 c, .param .align 8 .b8 d[24], .param .b32 e)
{
	ret;
}
.visible .entry two()
{
	ret;
}
)";

constexpr const char* kArguments = R"([{ x = "cols" }, "cols", 0.5, ["o", { u32 = "rows" }, "lse"], { s32 = -1 }])";

/// A map that is right, but for what is put in place of a line of it. "" leaves a line out.
std::string map_with(const std::string& key, const std::string& line) {
  const std::pair<const char*, std::string> lines[] = {{"id", "id = \"softmax.row.mine\""},
                                                       {"formats", "formats = [\"f32\"]"},
                                                       {"limits", "limits = { cols = [4, 4096, 4] }"},
                                                       {"scratch", "scratch = { part = \"4 * rows\" }"},
                                                       {"launch", "[[launch]]"},
                                                       {"entry", "entry = \"one\""},
                                                       {"grid", "grid = [\"ceil(rows / 4)\", 2]"},
                                                       {"block", "block = 128"},
                                                       {"shared", "shared = \"cols / 4\""},
                                                       {"arguments", std::string("arguments = ") + kArguments}};
  std::string text;
  for (const auto& [name, right] : lines) text += (name == key ? line : right) + "\n";
  return text;
}

std::string complaint(const std::string& toml, const std::string& ptx = kPtx) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "my.toml";
  std::ofstream(file) << toml;
  try {
    const ptx::Module module = ptx::parse("my.ptx", ptx);
    const ptx::MappedKernel kernel(ptx::read_map("my.toml", toml_fields(file), module), module);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(MapErrors, a_right_map_has_none) { EXPECT_EQ(complaint(map_with("", "")), ""); }

TEST(MapErrors, are_one_line_with_the_key_and_what_is_legal) {
  const auto arguments = [](const char* list) { return std::string("arguments = ") + list; };
  const std::string many(17, ' ');
  struct Wrong {
    const char* key;
    std::string line;
    const char* says;
  };
  const Wrong cases[] = {
      {"id", "", "my.toml: id: legal: PROBLEM.NAME.NAME"},
      {"id", "id = 3", "my.toml: id: legal: PROBLEM.NAME.NAME"},
      {"id", "id = \"softmin.row.mine\"", "of the problems softmax, merge, attention, attention_backward"},
      {"id", "id = \"softmax.row\"", "id: legal: three names"},
      {"formats", "", "formats: legal: one or more of f32"},
      {"formats", "formats = [\"f32\", \"f16\"]", "formats: legal: one, as an entry takes one"},
      {"formats", "formats = [\"f32\"]\ngird = 3", "unknown description: field \"gird\""},
      {"formats", "formats = [\"f32\"]\narithmetic = \"fa9\"", "arithmetic"},
      {"formats", "formats = [\"f32\"]\ntakes = [\"causal\"]", "unknown takes: feature \"causal\""},
      {"limits", "limits = { cols = [4] }", "limits.cols: legal: [least, most]"},
      {"scratch", "scratch = 3", "scratch: legal: a table"},
      {"scratch", "scratch = { x = 4 }", "scratch: \"x\": legal: a name of [a-z][a-z0-9_]* that the problem has not"},
      {"scratch", "scratch = { part = \"rows / 0\" }", "my.toml: scratch: part: \"rows / 0\": a division by zero"},
      {"scratch", "scratch = { part = \"0 - rows\" }", "\"0 - rows\" = -33, legal: whole numbers in 0.."},
      {"scratch", "scratch = { part = 5000000000 }", "\"5000000000\" = 5000000000, legal: whole numbers in 0.."},
      {"launch", "[launch]", "launch: legal: 1 to 16 tables, each headed [[launch]]"},
      {"entry", "entry = \"three\"", "launch 1: entry: "},
      {"entry", "entry = 3", "launch 1: entry: legal: the name of an entry"},
      {"entry", "", "launch 1: entry: "},
      {"grid", "", "launch 1: grid: legal: a whole number, an expression, or an array of one to three"},
      {"grid", "grid = []", "launch 1: grid: legal"},
      {"grid", "grid = [1, 2, 3, 4]", "launch 1: grid: legal"},
      {"grid", "grid = true", "launch 1: grid: legal: a number, or an expression in quotes"},
      {"grid", "grid = \"rowz\"",
       "launch 1: grid: \"rowz\": unknown name \"rowz\" (did you mean rows?); legal: rows, cols"},
      {"grid", "grid = \"rows / 4\"", "launch 1: grid: \"rows / 4\" = 33/4, legal: whole numbers in 1..2147483647"},
      {"grid", "grid = 0", "launch 1: grid: \"0\" = 0, legal: whole numbers in 1..2147483647"},
      {"grid", "grid = [1, 65536]", "legal: whole numbers in 1..65535"},
      {"grid", "grid = 9223372036854775807", "legal: whole numbers in 1..2147483647"},
      {"grid", "grid = 2.0", "launch 1: grid: \"2.0\" = 2.0, legal: whole numbers"},
      {"grid", "grid = nan", "my.toml:7: nan, legal: text, finite numbers, true and false"},
      {"grid", "grid = [1, -inf]", "my.toml:7: -inf, legal: text, finite numbers, true and false"},
      {"grid", "grid = 1979-05-27", "my.toml:7: a date or a time, legal: text, finite numbers, true and false"},
      {"grid", "grid = 0.5", "launch 1: grid: \"0.5\" = 0.5, legal: whole numbers"},
      {"grid", "gird = 1\ngrid = 1",
       "launch 1: unknown key \"gird\" (did you mean grid?); legal: entry, grid, block, shared, arguments"},
      {"block", "block = 1025", "launch 1: block: \"1025\" = 1025, legal: whole numbers in 1..1024"},
      {"block", "block = [1, 1, 65]", "legal: whole numbers in 1..64"},
      {"block", "block = [1024, 2]", "my.toml: launch 1: my.ptx: threads of a block: 2048, legal: 1 to 1024"},
      {"shared", "shared = \"8192 * cols\"",
       "launch 1: shared: \"8192 * cols\" = 294912, legal: whole numbers in 0..232448"},
      {"shared", "shared = \"cols / 8\"", "launch 1: shared: \"cols / 8\" = 9/2"},
      {"arguments", "", "launch 1: arguments: \"one\" has 5 parameters, legal: an array of as many"},
      {"arguments", arguments("[\"x\"]"), "arguments: \"one\" has 5 parameters"},
      {"arguments", arguments(R"(["y", "cols", 0.5, { hex = "00" }, { s32 = 1 }])"),
       "launch 1: arguments 1: unknown name \"y\"; legal: x, row_length, o, lse, rows, cols, part"},
      {"arguments", arguments(R"(["x", "Cols", 0.5, { hex = "00" }, { s32 = 1 }])"),
       "launch 1: arguments 2: unknown name \"Cols\" (did you mean cols"},
      {"arguments", arguments(R"(["x", "lse", 0.5, { hex = "00" }, { s32 = 1 }])"),
       "launch 1: arguments 2: 8 bytes, legal: 4, as the parameter has"},
      {"arguments", arguments(R"(["x", 4294967296, 0.5, ["o", "o", "o"], { s32 = 1 }])"),
       "launch 1: arguments 2: \"4294967296\" = 4294967296, legal: whole numbers in -2147483648..4294967295"},
      {"arguments", arguments(R"(["x", 1, 1e300, ["o", "o", "o"], { s32 = 1 }])"),
       "launch 1: arguments 3: \"1e+300\" = 1e+300: beyond the range of f32"},
      {"arguments", arguments(R"(["x", 1, 1, { hex = "0" }, { s32 = 1 }])"),
       "launch 1: arguments 4: hex: legal: two digits of each byte"},
      {"arguments", arguments(R"(["x", 1, 1, { hex = "zz" }, { s32 = 1 }])"),
       "launch 1: arguments 4: hex: legal: digits 0..9 and a..f"},
      {"arguments", arguments(R"(["x", 1, 1, { hex = "00" }, { s32 = 1 }])"),
       "launch 1: arguments 4: 1 bytes, legal: 24"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", 3, "o"], { s32 = 1 }])"),
       "launch 1: arguments 4: a number of no type: legal: { TYPE = expression }"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", ["o"], "o"], { s32 = 1 }])"),
       "launch 1: arguments 4: legal: a tensor, scratch memory"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o"], { s32 = 1 }])"), "launch 1: arguments 4: 16 bytes, legal: 24"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o", "o"], 1])"), "launch 1: arguments 5: a number of no type"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o", "o"], { q32 = 1 }])"),
       "launch 1: arguments 5: type \"q32\": legal: s8 .. s64, u8 .. u64, f32, f64, hex, or what can be pointed to"},
      {"arguments", arguments(R"([{ x = "cols / 5" }, 1, 1, ["o", "o", "o"], { s32 = 1 }])"),
       "launch 1: arguments 1: \"cols / 5\" = 36/5, legal: whole numbers in -1099511627776..1099511627776"},
      {"arguments", arguments(R"(["x", { lse = 1 }, 1, ["o", "o", "o"], { s32 = 1 }])"),
       "launch 1: arguments 2: 8 bytes, legal: 4"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o", "o"], { s32 = 2147483648 }])"),
       "legal: whole numbers in -2147483648..2147483647"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o", "o"], { u32 = -1 }])"),
       "legal: whole numbers in 0..4294967295"},
      {"arguments", arguments(R"(["x", 1, 1, ["o", "o", "o"], true])"), "launch 1: arguments 5: legal: a tensor"},
  };
  for (const Wrong& wrong : cases) {
    const std::string why = complaint(map_with(wrong.key, wrong.line));
    EXPECT_THAT(why, testing::HasSubstr(wrong.says)) << wrong.line;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  }
  std::string launches = map_with("", "");
  for (int i = 0; i < 16; ++i) launches += "[[launch]]\nentry = \"two\"\ngrid = 1\nblock = 1\narguments = []\n";
  EXPECT_THAT(complaint(launches), testing::HasSubstr("launch: legal: 1 to 16 tables"));
}

TEST(MapErrors, are_none_where_an_attention_has_what_an_expression_needs) {
  const std::string before = "id = \"attention.row.mine\"\nformats = [\"f32\"]\n";
  const std::string launch = "[[launch]]\nentry = \"two\"\nblock = 1\narguments = []\ngrid = ";
  for (const char* limits : {"", "limits = { q_heads = [1, 16] }\n", "limits = { k_heads = [1, 8] }\n",
                             "limits = { q_heads = [1, 64], k_heads = [1, 8] }\n"}) {
    EXPECT_EQ(complaint(before + limits + launch + "\"q_heads / k_heads\"\n"), "") << limits;
  }
  EXPECT_EQ(complaint(before + launch + "[\"batch * size(page_table, 1)\", \"size(q_start, 0) - 1\"]\n"), "");
}

TEST(MapErrors, are_numbers_where_the_entry_has_an_address) {
  const auto complaint_of = [](const std::string& parameter, const std::string& body, const std::string& argument) {
    const std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry two(.param " + parameter +
                            " a)\n{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [a];\n" + body +
                            "\tret;\n}\n";
    const std::string toml =
        "id = \"softmax.row.mine\"\nformats = [\"f32\"]\n[[launch]]\ngrid = 1\nblock = 1\narguments = [" + argument +
        "]\n";
    return complaint(toml, ptx);
  };
  const std::string wrong = "launch 1: arguments 1: \"cols\": \"two\" uses it as an address, legal: a tensor";
  const std::string cvta = "\tcvta.to.global.u64 %rd2, %rd1;\n", load = "\tld.global.u32 %r1, [%rd1+4];\n";
  for (const std::string& body : {cvta, load}) {
    for (const char* argument : {"\"cols\"", "{ u64 = \"cols\" }"})
      EXPECT_THAT(complaint_of(".u64", body, argument), testing::HasSubstr(wrong)) << body;
    for (const char* argument : {"\"x\"", "0", "{ hex = \"0000000000000000\" }"})
      EXPECT_EQ(complaint_of(".u64", body, argument), "") << body << argument;
  }
  EXPECT_THAT(complaint_of(".u64 .ptr .global .align 16", "", "\"cols\""), testing::HasSubstr(wrong));
  // A count of 64 bits, and a register that holds something else by then.
  EXPECT_EQ(complaint_of(".u64", "\tadd.s64 %rd2, %rd1, 1;\n", "\"cols\""), "");
  EXPECT_EQ(complaint_of(".u64", "\tmov.u64 %rd1, 0;\n" + cvta, "\"cols\""), "");
}

TEST(MapErrors, of_a_tensor_map) {
  const auto said = [](const std::string& argument, int bytes = 128) {
    const std::string ptx =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry two(.param .align 64 .b8 a[" +
        std::to_string(bytes) + "])\n{\n\tret;\n}\n";
    return complaint(
        "id = \"attention.row.mine\"\nformats = [\"f16\"]\n[[launch]]\ngrid = 1\nblock = 1\narguments = [" + argument +
            "]\n",
        ptx);
  };
  using testing::HasSubstr;
  EXPECT_EQ(said("{ tensor_map = 'q', box = [1, 1, 64, 'd'], swizzle = 128 }"), "");
  EXPECT_EQ(said("{ tensor_map = 'k', box = [64, 64], shape = ['k_length', 'd'], strides = ['stride(k, 2)', 1] }"), "");
  const std::pair<const char*, const char*> wrong[] = {
      {"'z', box = [1]", "arguments 1: tensor_map: legal: the name of a tensor"},
      {"'q'", "box: legal: the elements of each axis"},
      {"'q', box = [1, 2, 3, 4, 5, 6]", "box: legal: an array of 1 to 5"},
      {"'q', box = [1, 2], shape = [1, 2]", "shape and strides: as many"},
      {"'q', box = [1, 2, 4, 8], swizzle = 16", "swizzle: legal: 0, 32, 64 or 128"},
      {"'q', boxes = [1]", "unknown key \"boxes\" (did you mean box?)"},
      {"'q', box = [64, 64]", "box: 2 axes, legal: 4, as q has"},
      {"'q', box = [1, 1, 64, 'd'], shape = [1, 1, 1, 'd'], strides = [1, 1, 1, 'd']",
       "stride of the last axis: 33, legal: 1"}};
  for (const auto& [argument, says] : wrong)
    EXPECT_THAT(said(std::string("{ tensor_map = ") + argument + " }"), HasSubstr(says)) << argument;
  EXPECT_THAT(said("{ tensor_map = 'q', box = [1, 1, 64, 'd'] }", 64), HasSubstr("arguments 1: 128 bytes, legal: 64"));
}

TEST(MapErrors, are_told_of_a_large_file_before_it_is_read) {
  EXPECT_THAT(complaint(map_with("", "") + std::string(65536, '[')), testing::HasSubstr("must be at most 65536"));
}

TEST(MapErrors, know_the_axes_of_every_tensor) {
  for (int problem = FLASHPROOF_SOFTMAX; problem <= FLASHPROOF_ATTENTION_BACKWARD; ++problem) {
    const ptx::TrialCall trial(problem, {});
    for (const ptx::TensorName& one : ptx::tensor_names(problem)) {
      ASSERT_NE(one.of(trial.call()), nullptr) << one.name;
      EXPECT_EQ(one.of(trial.call())->ndim, one.axes) << one.name;
    }
  }
}

TEST(MapErrors, end_the_program_with_2) {
  const std::string folder = FLASHPROOF_PTX_EXAMPLES;
  const std::string ptx = folder + "/softmax.ptx";
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"check", ptx}, "needs --map MY.toml"},
      {{"check", ptx, "--map", folder + "/none.toml"}, "none.toml"},
      {{"check", ptx, "--map", ptx}, "not TOML"},
      {{"check", folder + "/none.ptx", "--map", folder + "/softmax.toml"}, "none.ptx"},
      {{"check", ptx, "--map", folder + "/attention.toml"}, "attention.toml: launch 1: entry: "},
      {{"check", folder + "/softmax.toml", "--map", folder + "/softmax.toml"}, "--map: legal with a .ptx"},
  };
  for (const auto& [words, says] : cases) {
    const ProgramRun run = run_plugin_program(words);
    EXPECT_EQ(run.code(), 2) << run.out << run.err;
    EXPECT_THAT(run.err, testing::HasSubstr(says));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace flashproof
