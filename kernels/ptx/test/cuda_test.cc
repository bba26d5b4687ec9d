// CUDA sources in the place of a .ptx, with a script in nvcc's place: what is compiled when, what is refused. Lines of the source.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/ptx/cuda/dependencies.h"
#include "kernels/ptx/cuda/source.h"
#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/translate/translate.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof::ptx {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// It notes every call, puts the source's first line into the PTX as the name of an entry, and depends on header.h.
constexpr const char* kCompiler = R"sh(#!/bin/sh
if [ "$1" = --version ]; then cat "$(dirname "$0")/version"; exit; fi
echo "$@" >>"$(dirname "$0")/calls"
for word in "$@"; do
  case $before in -o) out=$word ;; -MF) rule=$word ;; esac
  before=$word
done
if grep -q wrong "$before"; then printf 'my.cu(1): error: \033[2Jwrong\n'; exit 2; fi
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s() { ret; }\n' "$(head -n 1 "$before")" >"$out"
printf '%s : %s \\\n    %s/header.h\n' "$out" "$before" "$(dirname "$before")" >"$rule"
)sh";

class CudaSource : public testing::Test {
 protected:
  CudaSource() {
    write("bin/nvcc", kCompiler);
    fs::permissions(folder_.path() / "bin/nvcc", fs::perms::owner_all);
    write("bin/version", "release 13.0\n");
    write("my.cu", "first\n");
    write("header.h", "1\n");
    path_ = std::getenv("PATH");
    ::setenv("PATH", (path("bin") + ":" + path_).c_str(), 1);
    ::unsetenv("FLASHPROOF_CUDA_ARCHITECTURES");
  }
  ~CudaSource() override {
    ::setenv("PATH", path_.c_str(), 1);
    for (const char* name : {"FLASHPROOF_CUDA_ARCHITECTURES", "NVCC_APPEND_FLAGS"}) ::unsetenv(name);
  }
  std::string path(const std::string& file) const { return (folder_.path() / file).string(); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << text;
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> all;
    std::ifstream file(folder_.path() / "bin/calls");
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  std::string entry(bool use_cache = true) const {
    const Module module = read_module(path("my.cu"), {use_cache, path("cache")});
    EXPECT_EQ(module.file, path("my.ptx"));
    return module.entries.at(0).name;
  }
  std::string refusal(const std::string& file) const {
    try {
      read_module(file, {true, path("cache")});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
  std::string path_;
};

TEST_F(CudaSource, is_compiled_once_for_what_it_is_made_of) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(entry(), "first");
  ASSERT_EQ(calls().size(), 1U);
  EXPECT_THAT(calls()[0], HasSubstr("-ptx -lineinfo -arch=sm_80 "));
  write("my.cu", "second\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(entry(), "second");
  EXPECT_EQ(calls().size(), 2U);
  write("header.h", "2\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(entry(), "second");
  EXPECT_EQ(calls().size(), 3U);
  write("bin/version", "release 13.1\n");
  entry();
  EXPECT_EQ(calls().size(), 4U);
  ::setenv("NVCC_APPEND_FLAGS", "-DX", 1);
  entry();
  EXPECT_EQ(calls().size(), 5U);
  ::setenv("FLASHPROOF_CUDA_ARCHITECTURES", "90a;80", 1);
  entry();
  EXPECT_THAT(calls().back(), HasSubstr("-arch=sm_90a "));
  entry(false);
  EXPECT_EQ(calls().size(), 7U);
}

TEST_F(CudaSource, that_is_wrong_is_refused_with_what_nvcc_says) {
  write("my.cu", "wrong\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(refusal(path("my.cu")),
            path("my.cu") + ": nvcc does not compile it (exit code 2; its messages stand above)");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "my.cu(1): error: ?[2Jwrong\n");
  EXPECT_THAT(refusal(path("none.cu")), HasSubstr("none.cu"));
  for (const char* name : {"$(touch x).cu", "`touch x`.cu", "a\".cu", "a\\b.cu"})
    EXPECT_THAT(refusal(path(name)), HasSubstr("nvcc hands paths to a shell")) << name;
  for (const char* given : {"8", "sm_80", "80x", "80 -o x", "1000"}) {
    ::setenv("FLASHPROOF_CUDA_ARCHITECTURES", given, 1);
    EXPECT_THAT(refusal(path("my.cu")), HasSubstr("legal: numbers like 80 or 90a")) << given;
  }
}

TEST(Dependencies, are_read_as_make_reads_them) {
  EXPECT_THAT(prerequisites("a.ptx : b.cu \\\n    /x/c\\ d.h \\\n  e$$f.h g\\#h\n"),
              ElementsAre("b.cu", "/x/c d.h", "e$f.h", "g#h"));
  EXPECT_THAT(prerequisites("a.ptx: b.cu"), ElementsAre("b.cu"));
  EXPECT_THAT(prerequisites(""), ElementsAre());
  EXPECT_THAT(prerequisites("\\"), ElementsAre());
  for (const char* text : {"", "x", "\n", "00 ", "00 /none\n\nptx", "0\n\n"}) {
    EXPECT_EQ(unchanged(text).value_or("no"), text == std::string("\n") ? "" : "no") << text;
  }
}

TEST(SourceLines, stand_in_findings_beside_those_of_the_ptx) {
  std::string text = module_of(".loc 1 12 3\nst.global.u32 [%A], %w1;\n.loc 2 0 3\n");
  text += ".file 1 \"/long/way/to/m\x1by.cu\"\n";
  std::vector<std::uint64_t> a(32), o(32);
  EXPECT_THAT(run_module(text, a, o, 1, 32).said, HasSubstr("test.ptx:21 (m?y.cu:12): writes 4 bytes at"));
  EXPECT_THAT(run_module(module_of(".loc 1 12 3\nst.global.u32 [%A], %w1;"), a, o, 1, 32).said,
              HasSubstr("test.ptx:21: writes"));
}

TEST(SourceNames, stand_for_entries) {
  const Module module =
      parse("t",
            ".version 8.0\n.target sm_80\n.entry _Z5scalePfi() { ret; }\n.entry _Z1gIfLi4EEvPFviE() { ret; }\n"
            ".entry _ZN12_GLOBAL__N_11kEv() { ret; }\n.entry _Z4samef() { ret; }\n.entry _Z4samei() { ret; }\n");
  EXPECT_EQ(find_entry(module, "scale").name, "_Z5scalePfi");
  EXPECT_EQ(find_entry(module, "_Z5scalePfi").name, "_Z5scalePfi");
  EXPECT_EQ(find_entry(module, "g<float, 4>").name, "_Z1gIfLi4EEvPFviE");
  EXPECT_EQ(find_entry(module, "(anonymous namespace)::k").name, "_ZN12_GLOBAL__N_11kEv");
  EXPECT_THROW(find_entry(module, "same"), UsageError);  // which of the two
  EXPECT_EQ(source_name("_Z"), "_Z");
  EXPECT_EQ(source_name("plain"), "plain");
}

}  // namespace
}  // namespace flashproof::ptx
