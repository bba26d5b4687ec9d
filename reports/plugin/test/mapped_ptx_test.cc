// The examples of compiled kernels, right and spoilt: a verdict as of a library, with the line of the PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "reference/system/test/temporary_folder.h"
#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class MappedPtx : public testing::Test {
 protected:
  MappedPtx() {
    const std::filesystem::path examples = FLASHPROOF_PTX_EXAMPLES;
    for (const char* file : {"softmax.ptx", "softmax.toml", "attention.ptx", "attention.toml"}) {
      texts_[file] = read_file(examples / file);
    }
  }

  /// Puts `to` in place of what the expression finds in a file; at least once.
  void replace(const std::string& file, const std::string& from, const std::string& to, bool once = false) {
    const auto how = once ? std::regex_constants::format_first_only : std::regex_constants::format_default;
    const std::string made = std::regex_replace(texts_[file], std::regex(from), to, how);
    ASSERT_NE(made, texts_[file]) << from;
    texts_[file] = made;
  }
  std::string path(const std::string& file) {
    std::ofstream(folder_.path() / file) << texts_.at(file);
    return (folder_.path() / file).string();
  }
  ProgramRun run(std::vector<std::string> words, const std::string& kernel = "softmax") {
    words.insert(words.end(), {"--map", path(kernel + ".toml")});
    return run_plugin_program(words);
  }
  ProgramRun check(std::vector<std::string> more, const std::string& kernel = "softmax") {
    more.insert(more.begin(), {"check", path(kernel + ".ptx"), "--quick", "--out", (folder_.path() / "out").string()});
    return run(more, kernel);
  }

  std::map<std::string, std::string> texts_;
  const TemporaryFolder folder_;
};

TEST_F(MappedPtx, right_kernels_pass) {
  for (const char* kernel : {"softmax", "attention"}) {
    const ProgramRun run = check({}, kernel);
    EXPECT_EQ(run.code(), 0) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("PASS       1 kernel and format does what it declares"));
  }
}

TEST_F(MappedPtx, says_of_itself_what_the_map_declares) {
  const ProgramRun listed = run({"list", path("softmax.ptx")});
  EXPECT_EQ(listed.code(), 0) << listed.err;
  EXPECT_EQ(listed.out,
            "plugin softmax.ptx \n  softmax.two_launches.mine f32 on the CPU, deterministic\n    takes strides: rows\n"
            "    limits cols 1 to 65536, rows 1 to 65535\n");
}

TEST_F(MappedPtx, pointers_may_lie_behind_the_first_element) {
  replace("softmax.toml", R"("8 \* rows")", R"("8 * rows + 8")");
  replace("softmax.toml", R"("x", "statistics")", R"("x", { statistics = 8 })");
  EXPECT_EQ(check({"--family", "normal"}).code(), 0);
  replace("softmax.toml", R"("x", \{)", R"({ x = 1 }, {)");
  const ProgramRun run = check({"--family", "normal"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(std::regex_replace(run.out, std::regex("\n +"), " "), HasSubstr("(0 bytes behind the end of x)"));
}

/// What Triton made for sm_90a (kernels/ptx/test/make_triton_ptx.py), by its cp.async, tensor maps and wgmma.
class TritonPtx : public MappedPtx {
 protected:
  TritonPtx() { texts_["triton.ptx"] = read_file(tests_ / "triton.sm_90a.ptx"); }

  ProgramRun check(const std::string& map, std::vector<std::string> more) {
    more.insert(more.begin(), {"check", path("triton.ptx"), "--map", (tests_ / map).string(), "--out",
                               (folder_.path() / "out").string()});
    return run_plugin_program(more);
  }

  /// Which draw scales of either sign. All families take half a minute.
  const std::vector<std::string> some_{"--quick", "--family", "normal",       "--family",
                                       "pairs",   "--family", "feature_edges"};

 private:
  const std::filesystem::path tests_ = FLASHPROOF_PTX_TESTS;
};

TEST_F(TritonPtx, right_kernels_pass) {
  for (const char* map : {"triton_softmax.toml", "triton_maps.toml"}) {
    const ProgramRun run = check(map, some_);
    EXPECT_EQ(run.code(), 0) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("PASS       1 kernel and format does what it declares"));
  }
}

TEST_F(TritonPtx, a_maximum_before_a_negative_scale_is_named) {
  std::vector<std::string> judged = some_;
  // Of huge scores of a positive scale it is right: no maximum at all would overflow there, too.
  judged.insert(judged.end(), {"--family", "huge", "--law", "within_bound", "--law", "class_matches_semantics"});
  const ProgramRun run = check("triton_pointers.toml", judged);
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  const std::string text = std::regex_replace(run.out, std::regex("\n +"), " ");
  EXPECT_THAT(text, HasSubstr("FAIL       1 cause of failure"));
  EXPECT_THAT(text, HasSubstr("it takes the maximum before the scale: of a negative scale that is the least score"));
}

// In the loop the tiles of k and v begin at key 0, as before it.
TEST_F(TritonPtx, a_tile_of_the_wrong_keys_is_a_finding) {
  replace("triton.ptx", R"((cp\.async\.bulk\.tensor\.2d\.shared::[^\n]*\{%r71, )%r485\})", "$1%r71}");
  const ProgramRun run = check("triton_maps.toml", {"--family", "sizes", "--law", "within_bound"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
}

#ifdef FLASHPROOF_NVCC
TEST_F(MappedPtx, a_cuda_source_is_judged_and_told_by_its_own_lines) {
  texts_["softmax.cu"] = read_file(std::filesystem::path(FLASHPROOF_PTX_EXAMPLES) / "softmax.cu");
  const auto with_cache = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--map", path("softmax.toml")});
    return run_plugin_program(words,
                              [cache = folder_.path().string()] { ::setenv("XDG_CACHE_HOME", cache.c_str(), 1); });
  };
  const auto check = [&] {
    return with_cache({"check", path("softmax.cu"), "--quick", "--family", "normal", "--law", "call_returns", "--law",
                       "within_bound", "--out", (folder_.path() / "out").string()});
  };
  EXPECT_EQ(check().code(), 0);
  replace("softmax.toml", R"("cols", )", R"("cols + 1", )");
  const ProgramRun run = check();
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(std::regex_replace(run.out, std::regex("\n +"), " "),
              ContainsRegex("softmax.ptx:[0-9]+ .softmax.cu:1[0-9].: reads 4 bytes at"));
  const std::string witness =
      folder_.path() / "out/witnesses/softmax/softmax.two_launches.mine.f32.call_returns.safetensors";
  const ProgramRun again = with_cache({"replay", witness, "--plugin", path("softmax.cu")});
  EXPECT_EQ(again.code(), 1) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("(softmax.cu:1"));
  replace("softmax.cu", "float most = -INFINITY;", "float mist = -INFINITY;");
  const ProgramRun wrong = check();
  EXPECT_EQ(wrong.code(), 2) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("error: identifier \"most\" is undefined"));
  EXPECT_THAT(wrong.err, HasSubstr("softmax.cu: nvcc does not compile it (exit code 1; its messages stand above)"));
}
#endif

TEST_F(MappedPtx, a_cuda_source_without_a_map_is_told_both_ways) {
  texts_["softmax.cu"] = read_file(std::filesystem::path(FLASHPROOF_PTX_EXAMPLES) / "softmax.cu");
  const ProgramRun run = run_plugin_program({"check", path("softmax.cu"), "--quick"});
  EXPECT_EQ(run.code(), 2) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("-shared -Xcompiler -fPIC"));
  EXPECT_THAT(run.err, HasSubstr("or --map MY.toml, for a verdict on the CPU"));
}

TEST_F(MappedPtx, a_column_too_few_is_never_written) {
  replace("softmax.toml", R"("cols", )", R"("cols - 1", )");
  const ProgramRun run = check({"--family", "normal"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("elements are never written"));
}

TEST_F(MappedPtx, a_read_out_of_bounds_is_told_by_line_and_replays) {
  replace("softmax.toml", R"("cols", )", R"("cols + 1", )");
  const ProgramRun run = check({"--family", "normal"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  std::string text = std::regex_replace(run.out, std::regex("\n +"), " ");
  EXPECT_THAT(text,
              ContainsRegex("launch 1: softmax.ptx:[0-9]+: reads 4 bytes at 0x[0-9a-f]+, in no array of the launch"));
  EXPECT_THAT(text, HasSubstr("(0 bytes behind the end of x), in block (0, 0, 0), thread (1, 0, 0)"));
  const std::string witness =
      folder_.path() / "out/witnesses/softmax/softmax.two_launches.mine.f32.call_returns.safetensors";
  EXPECT_THAT(text, HasSubstr("./flashproof replay --map " + path("softmax.toml") + " "));
  const ProgramRun again = this->run({"replay", witness, "--plugin", path("softmax.ptx")});
  EXPECT_EQ(again.code(), 1) << again.out << again.err;
  EXPECT_THAT(again.out, ContainsRegex("softmax.ptx:[0-9]+: reads"));
}

TEST_F(MappedPtx, a_barrier_too_few_is_told_by_line) {
  replace("softmax.ptx", "\tbar\\.sync [^\n]*\n", "\n", true);
  const ProgramRun run = check({"--family", "normal"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  const std::string text = std::regex_replace(run.out, std::regex("\n +"), " ");
  EXPECT_THAT(
      text,
      ContainsRegex(
          "softmax.ptx:[0-9]+: reads [0-9]+ bytes at 0x[0-9a-f]+ of shared memory that were not all written before"));
}

TEST_F(MappedPtx, no_maximum_is_a_finding) {
  replace("softmax.ptx", R"(max\.f32 (\s*%\w+), [^;]*;)", "mov.f32 $1, 0f00000000;");
  const ProgramRun run = check({"--family", "normal", "--family", "huge"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("NaN, inf or a number where another of these is right"));
}

TEST_F(MappedPtx, nan_everywhere_does_not_pass) {
  replace("softmax.ptx", R"((st\.global\.f32 \s*\[[^\]]*\], )(%\w+);)", "mov.f32 $2, 0f7FFFFFFF;\n$1$2;");
  const ProgramRun run = check({"--family", "normal", "--family", "equal", "--law", "*_bound"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
}

TEST_F(MappedPtx, a_mask_that_is_left_out_is_named) {
  replace("attention.toml", R"("k_length", "d", "scale", "causal")", R"("k_length", "d", "scale", "0 * causal")");
  const ProgramRun run = check({"--family", "pairs"}, "attention");
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("causality is ignored"));
}

/// Volatile accesses are no races. Which warp stores last shows in another order alone: in an ulp of lse, within the bound.
TEST_F(MappedPtx, a_result_that_hangs_on_the_order_of_warps_is_a_finding) {
  replace("softmax.ptx", R"((\t@%p12 bra[^\n]*BB0_46;\n))",
          "\t.reg .b32 %last;\n\t.reg .f32 %order;\n\tmov.u32 %last, %tid.x;\n"
          "\tst.volatile.shared.u32 [_ZZ14row_statisticsE4part+508], %last;\n\tbar.sync 0;\n$1"
          "\tld.volatile.shared.u32 %last, [_ZZ14row_statisticsE4part+508];\n\tcvt.rn.f32.u32 %order, %last;\n",
          true);
  replace("softmax.ptx", R"((\tadd.f32 \t%f179, %f8, %f178;\n))", "$1\tfma.rn.f32 %f179, %order, 0f31000000, %f179;\n");
  const ProgramRun run = check({"--family", "normal"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(std::regex_replace(run.out, std::regex("\n +"), " "),
              HasSubstr("blocks and warps in the order from the last to the first"));
  replace("softmax.toml", "deterministic = true", "deterministic = false");
  EXPECT_EQ(check({"--family", "normal"}).code(), 0);
}

TEST_F(MappedPtx, a_form_that_is_refused_is_named_before_anything_runs) {
  replace("attention.ptx", "\tret;", "\tsin.approx.f32 %f1, %f1;\n\tret;", true);
  const ProgramRun run = check({}, "attention");
  EXPECT_EQ(run.code(), 2) << run.out << run.err;
  EXPECT_THAT(run.err, ContainsRegex("^flashproof: attention.ptx:[0-9]+: no such instruction here: sin.approx.f32\n$"));
}

TEST_F(MappedPtx, a_launch_that_cuda_would_refuse_is_a_finding) {
  replace("softmax.toml", "grid = \"rows\"", "grid = \"rows - 1\"");
  const ProgramRun run = check({"--family", "normal", "--law", "call_returns"});
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(std::regex_replace(run.out, std::regex("\n +"), " "),
              HasSubstr("launch 1: grid: \"rows - 1\" = 0, legal: whole numbers in 1..2147483647"));
}

}  // namespace
}  // namespace flashproof
