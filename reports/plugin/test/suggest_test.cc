// Kernels by other semantics than the reference's: which declaration suggest finds for them, that they pass by it, and that it says
// nothing of wrong ones.
#include "reports/plugin/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reports/plugin/block.h"
#include "reports/plugin/declared_by.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const std::filesystem::path kPlugin = std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "semantics.so";

PluginCheck options_for(const std::string& kernel, std::uint64_t cases) {
  PluginCheck options;
  options.kernels = {kernel + ".semantics"};
  options.cases = cases;
  options.families = {"normal", "mask_*", "staircase", "descending", "logit_spread",
                      "sizes",  "dims",   "lse_gaps",  "window"};
  options.jobs = 2;
  return options;
}

Suggestion suggestion_for(const Plugin& plugin, const std::string& kernel) {
  std::vector<KernelSuggestion> list = suggest_for(plugin, options_for(kernel, 1));
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.front().why_not, "");
  return std::move(list.front().suggestion);
}

/// By the suggestion as a description has it.
Plugin::Declare declared(const std::string& kernel, const std::string& semantics, const std::string& arithmetic) {
  return [kernel, semantics, arithmetic](const std::string& id, std::string description) {
    if (id != kernel + ".semantics") return description;
    description.pop_back();
    return description + R"(, "semantics": )" + semantics + R"(, "arithmetic": )" + arithmetic + "}";
  };
}

struct Expected {
  const char *kernel, *semantics;
  friend std::ostream& operator<<(std::ostream& out, const Expected& e) { return out << e.kernel; }
};

class Suggest : public testing::TestWithParam<Expected> {};

TEST_P(Suggest, finds_what_the_kernel_does_and_it_passes_by_that) {
  const Plugin plugin(kPlugin);
  const Suggestion found = suggestion_for(plugin, GetParam().kernel);
  ASSERT_TRUE(found.found) << suggestion_text(found, GetParam().kernel, "id");
  EXPECT_EQ(found.semantics, GetParam().semantics) << suggestion_text(found, GetParam().kernel, "id");
  EXPECT_GT(found.cases, 20U);
  const Plugin as_suggested(kPlugin, 30, declared(GetParam().kernel, found.semantics, found.arithmetic));
  const PluginCheck options = options_for(GetParam().kernel, 1);
  const PluginReport report = check_plugin(as_suggested, options);
  EXPECT_FALSE(report.found() || report.undecided())
      << block_text(plugin_block(report, as_suggested, "replay"), Colour::off);
}
INSTANTIATE_TEST_SUITE_P(
    all, Suggest,
    testing::Values(Expected{"attention.reference", "{}"}, Expected{"attention.nan_rows", R"({"empty_o":"nan"})"},
                    Expected{"attention.mean_rows", R"({"empty_o":"mean"})"},
                    Expected{"attention.any_rows", R"({"empty_o":"any","empty_lse":"any"})"},
                    Expected{"attention.base_2", R"({"lse_base":"2"})"},
                    Expected{"attention.top_left", R"({"diagonal":"top_left"})"},
                    Expected{"attention.laundering", R"({"nan_o":"any"})"},
                    Expected{"attention.flash_2", R"("flash-attention-2")"},
                    Expected{"attention.flash_3", R"("flash-attention-3")"}, Expected{"attention.cudnn", R"("cudnn")"},
                    Expected{"attention.triton", R"("triton-tutorial")"}, Expected{"attention.jax", R"("jax")"},
                    Expected{"attention.torch", R"({"empty_lse":"nan","diagonal":"top_left"})"},
                    Expected{"merge.reference", "{}"}, Expected{"merge.vllm", R"("vllm-merge")"},
                    Expected{"merge.flashinfer", R"("flashinfer")"}),
    [](const auto& info) {
      std::string name = info.param.kernel;
      std::ranges::replace(name, '.', '_');
      return name;
    });

TEST(SuggestNothing, explains_a_wrong_kernel) {
  const Plugin plugin(kPlugin);
  for (const char* kernel : {"attention.drops_last", "attention.half", "merge.drops_last"}) {
    const Suggestion nearest = suggestion_for(plugin, kernel);
    EXPECT_FALSE(nearest.found) << kernel;
    EXPECT_GT(nearest.unexplained.size(), 3U) << kernel;
    const std::string text = suggestion_text(nearest, kernel, "id");
    EXPECT_THAT(text, HasSubstr("NOT EXPLAINED")) << text;
    EXPECT_THAT(text, HasSubstr("the smallest case first:\n  " + to_string(nearest.unexplained.front().spec)));
  }
}

/// What does not come back is explained by no declaration: told by its cases, and a hang is not waited for in each of them.
TEST(SuggestNothing, explains_a_kernel_that_crashes_or_hangs) {
  const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "faulty.so");
  for (const auto& [kernel, most] : {std::pair{"crash", 40U}, {"hang", 3U}}) {
    PluginCheck options;
    options.kernels = {"softmax." + std::string(kernel) + ".test"};
    options.cases = 1;
    options.jobs = 1;  // another worker may be at a call meanwhile
    options.seconds = 0.1;
    const std::vector<KernelSuggestion> list = suggest_for(plugin, options);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list.front().why_not, "");
    const Suggestion& found = list.front().suggestion;
    EXPECT_FALSE(found.found) << kernel;
    ASSERT_FALSE(found.unexplained.empty()) << kernel;
    EXPECT_LE(found.unexplained.size(), most) << kernel;
    EXPECT_THAT(found.unexplained.front().verdict.detail, testing::StartsWith("the process ")) << kernel;
  }
}

/// A kernel that refuses what its description takes would not pass; a law that fails under every declaration is told beside one.
TEST(SuggestNothing, that_a_run_would_not_pass) {
  const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "evasive.so");
  const auto suggested = [&](const std::string& kernel) {
    PluginCheck options;
    options.kernels = {"softmax." + kernel + ".evasive"};
    options.families = {"normal", "logit_spread"};
    options.cases = 2;
    options.jobs = 2;
    return suggest_for(plugin, options).front().suggestion;
  };
  EXPECT_TRUE(suggested("right").found);
  const Suggestion one_nan = suggested("one_nan");
  EXPECT_TRUE(one_nan.found);
  EXPECT_THAT(one_nan.notes,
              testing::Contains(testing::ContainsRegex("fails whatever is declared: .*sees nan planted")));
  const Suggestion refuses = suggested("refuses_most");
  EXPECT_FALSE(refuses.found);
  EXPECT_THAT(refuses.undecided, HasSubstr("were refused when the kernel was called"));
}

/// A preset is what its library does, and every kernel here passes by it.
TEST(SuggestPresets, pass_by_their_names) {
  for (const auto& [kernel, preset] : {std::pair{"attention.torch", "torch-sdpa"},
                                       {"attention.flash_2", "flash-attention-2"},
                                       {"attention.base_2", "flashinfer"}}) {
    const std::string semantics = std::string("\"") + preset + "\"";
    const Plugin plugin(kPlugin, 30, declared(kernel, semantics, "\"unknown\""));
    const PluginReport report = check_plugin(plugin, options_for(kernel, 1));
    EXPECT_FALSE(report.found() || report.undecided()) << preset;
  }
}

class DeclaredByFile : public testing::Test {
 protected:
  DeclaredByFile()
      : file_(std::filesystem::temp_directory_path() / ("declare-" + std::to_string(::getpid()) + ".toml")) {}
  ~DeclaredByFile() override { std::filesystem::remove(file_); }
  /// What a library with this file says, or the error.
  std::string said(const std::string& toml, const std::string& kernel = "attention.base_2.semantics") {
    std::ofstream(file_) << toml;
    try {
      DeclaredBy declared(file_);
      const Plugin plugin(kPlugin, 30, std::ref(declared));
      declared.require_used(plugin);
      const auto found = std::ranges::find(plugin.kernels(), kernel, &Kernel::id);
      return found->contract.semantics.lse_base == LseBase::two ? "2" : "e";
    } catch (const UsageError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
  }

  std::filesystem::path file_;
};

TEST_F(DeclaredByFile, says_it_of_all_kernels_or_of_one) {
  EXPECT_EQ(said("semantics = { lse_base = \"2\" }"), "2");
  const std::string one =
      "[kernel.\"attention.base_2.semantics\"]\nsemantics = { lse_base = \"2\" }\narithmetic = \"unknown\"\n";
  EXPECT_EQ(said(one), "2");
  EXPECT_EQ(said(one, "attention.jax.semantics"), "e");
  EXPECT_EQ(said("[kernel.\"attention.base_2.semantics\".semantics]\nlse_base = \"2\"\n"), "2");
}

/// Where the file puts other fields over it, too.
TEST_F(DeclaredByFile, hides_no_fault_of_a_description) {
  std::ofstream(file_) << "strides = \"rows\"\n";
  DeclaredBy declared(file_);
  EXPECT_EQ(declared("a.b.c", R"({"takes": []})"), R"({"strides":"rows","takes":[]})");
  for (const char* wrong : {R"({"takes": [], "takes": []})", R"({"a": [[[[[[[[[]]]]]]]]]})", "{", "[]", "1e999"}) {
    EXPECT_EQ(declared("a.b.c", wrong), wrong);
  }
}

TEST_F(DeclaredByFile, refuses_what_is_wrong_in_one_line) {
  EXPECT_THAT(said("semantics = \"flash\""), HasSubstr(R"(unknown preset "flash")"));
  EXPECT_THAT(said("semantic = \"jax\""), HasSubstr(R"(unknown description: field "semantic")"));
  EXPECT_THAT(said("semantics = 1979-05-27"), HasSubstr("legal"));
  EXPECT_THAT(said("kernel = 3"), HasSubstr("kernel: legal: tables"));
  EXPECT_THAT(said("[kernel.\"attention.mine.semantics\"]\ndeterministic = true\n"),
              HasSubstr("the library has none of this id"));
  EXPECT_THAT(said(""), HasSubstr("says nothing"));
  EXPECT_THAT(said("a = ["), HasSubstr("not TOML"));
  EXPECT_THAT(said("a = " + std::string(300, '[') + std::string(300, ']')), HasSubstr(".toml"));
}

}  // namespace
}  // namespace flashproof
