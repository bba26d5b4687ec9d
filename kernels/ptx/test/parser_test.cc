// Text -> module, and what is refused, by file and line.
#include "kernels/ptx/parse/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/translate/flow.h"
#include "kernels/ptx/translate/translate.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string refusal(const std::string& text) {
  try {
    const Module module = parse("f.ptx", text);
    for (const Entry& entry : module.entries) translate(module, entry);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string of_body(const std::string& body) {
  return refusal(kHead + ".entry k(.param .u64 p)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n" + body +
                 "\nret;\n}\n");
}

TEST(Parser, entries_parameters_and_variables) {
  const Module module = parse("f.ptx", kHead + R"(
// comment
.file 1 "/src/k.cu"
.const .align 8 .b8 table[2][3] = {{1, 2, 3}, {4, 5, 0xff}};
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) helper(.param .b32 x);
.visible .entry k(
  .param .u64 .ptr .global .align 16 p, /* a
  comment */ .param .align 8 .b8 args[104], .param .u8 flag, .param .f32 scale)
.maxntid 128, 2
.minnctapersm 2
{ .reg .b32 %r<3>;
  .shared .align 4 .f32 tile[32];
  .loc 1 12 3, function_name $L__info, inlined_at 1 4 5
  mov.u32 %r1, %tid.x;
  ret; }
)");
  ASSERT_EQ(module.entries.size(), 1U);
  const Entry& entry = module.entries[0];
  EXPECT_EQ(entry.max_threads, 256U);
  EXPECT_EQ(entry.parameter_bytes, 120);
  EXPECT_EQ(entry.parameters[1].offset, 8);
  EXPECT_EQ(entry.parameters[2].offset, 112);
  EXPECT_EQ(entry.parameters[3].offset, 116);
  EXPECT_EQ(entry.variables[0].bytes(), 128);
  EXPECT_EQ(entry.instructions[0].source_line, 12);
  EXPECT_EQ(module.variables[0].bytes(), 6);
  EXPECT_EQ(static_cast<int>(module.variables[0].initial[5]), 255);
}

TEST(Parser, refuses_with_file_and_line) {
  EXPECT_EQ(refusal(""), "f.ptx:1: no .version: this is no PTX");
  EXPECT_EQ(refusal("hello"), "f.ptx:1: no .version before the first statement: this is no PTX");
  EXPECT_EQ(refusal(".version 6.5\n"), "f.ptx:1: PTX version '6.5', legal: 7.0 to 9.9");
  EXPECT_EQ(refusal(kHead + ".address_size 32"), "f.ptx:4: address size: '32', legal: 64 to 64");
  EXPECT_EQ(refusal(kHead + "\x01"), "f.ptx:4: character 0x01 does not belong in PTX");
  EXPECT_EQ(refusal(kHead + "/* x"), "f.ptx:4: a comment without its end");
  EXPECT_EQ(refusal(kHead + ".entry k() { ret;"), "f.ptx:4: '}' expected at the end of k");
  EXPECT_EQ(refusal(kHead + ".entry k() { .reg .b32 %r<4000000000>; }"),
            "f.ptx:4: registers: '4000000000', legal: 1 to 65536");
  EXPECT_EQ(refusal(kHead + ".entry k() { .reg .b32 %a<65536>, %b; }"), "f.ptx:4: more than 65536 registers");
  EXPECT_EQ(refusal(kHead + ".entry k() { ret; }\n.entry k() { ret; }"), "f.ptx:5: k is declared twice");
  EXPECT_EQ(refusal(kHead + ".global .b8 x[9999999999];"), "f.ptx:4: elements: '9999999999', legal: 0 to 67108864");
  EXPECT_EQ(refusal(kHead + ".global .b64 x[60000000];"),
            "f.ptx:4: more than 67108864 bytes of global and constant variables");
  EXPECT_EQ(refusal(kHead + ".global .u64 x = y;"), "f.ptx:4: x: an address as initial value is not supported here");
  EXPECT_EQ(refusal(kHead + ".extern .global .u32 x;"),
            "f.ptx:4: x is defined in another file, which there is none of");
  EXPECT_THAT(refusal(kHead + ".entry k() {" + std::string(100, '{')),
              StartsWith("f.ptx:4: more than 64 nested braces"));
  EXPECT_THAT(refusal(kHead + ".entry k() { mov.b32 x, " + std::string(100, '{')),
              StartsWith("f.ptx:4: an operand nested too deeply"));
}

TEST(Parser, refuses_wrong_operands) {
  const std::pair<const char*, const char*> cases[] = {
      {"add.u32 %r1, %r2;", "f.ptx:9: add.u32: 2 operands, wanted 3"},
      {"add.u32 %r1, %r2, %rd1;", "operand 3: register %rd1 has 64 bits, wanted 32"},
      {"add.u32 %r1, %r2, %p1;", "register %p1 has 1 bits (a predicate), wanted 32"},
      {"add.u32 7, %r2, %r3;", "operand 1: a register is written there"},
      {"add.u32 %r1, %r2, nothing;", "operand 3: a register or a number of 32 bits is read there"},
      {"mov.u32 %r1, nothing;", "'nothing' is no variable, parameter or register"},
      {"bra nowhere;", "'nowhere' is no label"},
      {"@%r1 bra nowhere;", "'%r1' is no predicate"},
      {"ld.shared.u32 %r1, [p];", "'p' lies in another memory"},
      {"ld.global.v2.u32 %r1, [%rd1];", "2 elements wanted"},
      {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "2 elements wanted"},
      {"setp.lt.u32 %p1|%p1, %r1, !%r2;", "'!' is for predicates"},
      {"add.f32 %r1, %r2, 3;", "an integer stands for a float"},
      {"x: add.u32 %r1, %r1, 1;\nx: ret;", "label x stands twice"},
      {"mov.u32 %r1, 99999999999999999999;", "is no number of 64 bits"},
  };
  for (const auto& [body, says] : cases) EXPECT_THAT(of_body(body), HasSubstr(says)) << body;
}

TEST(Parser, what_cannot_be_executed_is_named_with_its_line_all_of_it) {
  const Module module = parse(
      "f.ptx", kHead +
                   ".entry k() {\n.reg .b32 %r<9>;\nadd.u32 %r1, %r1, "
                   "1;\nwgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {%r1, %r2}, 5, 6, 1, 1, 1, 0, 0;\n"
                   "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%r2, "
                   "{%r3, %r4}], [%r5];\nsin.approx.ftz.f32 %r1, %r1;\nret;\n}\n");
  EXPECT_THAT(unsupported(module, module.entries[0]),
              ElementsAre("f.ptx:7: no such instruction here: wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16",
                          "f.ptx:8: no such instruction here: "
                          "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
                          "f.ptx:9: no such instruction here: sin.approx.ftz.f32"));
  EXPECT_THROW(translate(module, module.entries[0]), UsageError);
}

TEST(Forms, patterns) {
  EXPECT_TRUE(matches("{add,sub}{,.rn}.f32", "add.f32"));
  EXPECT_TRUE(matches("{add,sub}{,.rn}.f32", "sub.rn.f32"));
  EXPECT_FALSE(matches("{add,sub}{,.rn}.f32", "sub.rz.f32"));
  EXPECT_FALSE(matches("{add,sub}{,.rn}.f32", "add.f32x"));
  EXPECT_TRUE(matches("a{,.b{.c,.d}}{,.e}.f", "a.b.d.e.f"));
  EXPECT_FALSE(matches("a{,.b{.c,.d}}{,.e}.f", "a.b.e.f"));
}

TEST(Forms, what_the_gpu_does_not_have_or_nobody_has_measured_is_not_there) {
  for (const char* name : {"add.ftz.f64",
                           "add.rn.u32",
                           "add",
                           "",
                           "fma.f32",
                           "mul.u32",
                           "ld.global.b128",
                           "cvt.f32.u32",
                           "cos.approx.f32",
                           "div.rn.f16",
                           "shfl.bfly.b32",
                           "cvt.rn.f16.f16",
                           "add.ftz.rn.f32",
                           "setp.lt.ftz.f64",
                           "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
                           "add.rz.f16",
                           "fma.rn.ftz.bf16",
                           "ex2.approx.ftz.f16x2",
                           "max.ftz.f64",
                           "max.f32x2",
                           "cvt.rna.tf32.f32",
                           "rcp.approx.ftz.f64",
                           "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
                           "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
                           "ldmatrix.sync.aligned.m8n8.x3.shared.b16"}) {
    EXPECT_EQ(find_form(name), nullptr) << name;
  }
}

TEST(ParseFile, a_pipe_a_device_and_an_empty_file_are_refused_in_one_line) {
  std::string folder = testing::TempDir() + "ptx-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string pipe = folder + "/pipe", empty = folder + "/empty";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(empty).close();
  for (const std::string& path : {pipe, empty, folder, std::string("/dev/zero"), folder + "/none"}) {
    EXPECT_THROW(parse_file(path), UsageError) << path;
  }
  std::filesystem::remove_all(folder);
}

TEST(Translate, an_entry_is_found_by_name_or_alone) {
  const Module module = parse("f.ptx", kHead + ".entry a() { ret; }\n.entry b() { ret; }\n.func c() { ret; }");
  EXPECT_EQ(find_entry(module, "b").name, "b");
  EXPECT_THROW(find_entry(module, ""), UsageError);
  EXPECT_THROW(find_entry(module, "c"), UsageError);
}

}  // namespace
}  // namespace flashproof::ptx
