#include "reports/plugin/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/block.h"
#include "reports/plugin/command_line.h"
#include "reports/plugin/text.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kFolder = FLASHPROOF_TEST_PLUGINS;

const Plugin& faulty() {
  static const Plugin plugin(kFolder / "faulty.so");
  return plugin;
}

PluginCheck small(const std::string& kernel, std::vector<std::string> laws) {
  PluginCheck options;
  options.kernels = {"softmax." + kernel + ".test"};
  options.laws = std::move(laws);
  options.families = {"normal", "hidden_specials"};
  options.cases = 2;
  options.seconds = 5;
  return options;
}

const PluginResult& result(const PluginReport& report, std::string_view law) {
  return *std::ranges::find(report.results, law, &PluginResult::law);
}

TEST(CheckPlugin, a_right_kernel_passes_every_law) {
  const PluginReport report = check_plugin(faulty(), small("right", {}));
  for (const PluginResult& r : report.results) {
    EXPECT_FALSE(r.tally.verdict.failed()) << r.law << ": " << r.tally.verdict.detail;
  }
  for (const char* law : {"call_returns", "within_bound", "outputs_fully_written", "rerun_is_bitwise",
                          "red_zones_untouched", "layout_invariance", "batch_invariance_is_bitwise"}) {
    EXPECT_GT(result(report, law).decided(), 0U) << law;
  }
  // A law has the share of the cases of which it speaks.
  for (const PluginResult& r : report.results) {
    const bool speaks = r.law != kCallReturns && r.decided() > 0;
    EXPECT_EQ(r.power.of(Part::o).elements() > 0, speaks) << r.law;
    EXPECT_GT(r.power.of(Part::lse).share(), 0.5) << r.law;
  }
  // What only the CPU executor can show says nothing here.
  for (const char* law : {"schedule_invariance_is_bitwise", "no_race", "offsets_beyond_int32"}) {
    EXPECT_EQ(result(report, law).decided(), 0U) << law;
  }
  EXPECT_GT(result(report, "within_bound").tally.ratio, 0);
  EXPECT_FALSE(report.found() || report.partial);
}

/// A law that compares runs and fails beside one that judges is in no entry of a cause; it is named all the same.
TEST(CheckPlugin, every_law_that_fails_is_named) {
  for (const char* kernel : {"wrong", "unsteady", "from_workspace"}) {
    const PluginReport report = check_plugin(faulty(), small(kernel, {}));
    const std::string text = block_text(plugin_block(report, faulty(), "replay"), Colour::off);
    int failing = 0;
    for (const PluginResult& r : report.results) {
      if (!r.failure) continue;
      EXPECT_THAT(text, HasSubstr(r.law)) << kernel;
      ++failing;
    }
    EXPECT_GT(failing, 0) << kernel;
  }
}

TEST(CheckPlugin, a_failure_of_an_interrupted_run_is_told_and_written_as_that) {
  PluginReport report = check_plugin(faulty(), small("wrong", {}));
  ASSERT_TRUE(report.found() && report.is_whole());
  report.partial = true;
  EXPECT_THAT(plugin_block(report, faulty(), "replay").sentence, HasSubstr("; interrupted before every case had run"));
  const std::filesystem::path json = testing::TempDir() + "flashproof-interrupted.json";
  write_plugin_files(report, faulty(), "replay", "", json.string());
  const std::string text = read_file(json, 1 << 20);
  std::filesystem::remove(json);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("\"finding\": true"), HasSubstr("\"partial\": true")));
}

TEST(CheckPlugin, the_first_failure_is_told_at_once) {
  const auto told = [](const char* kernel) {
    testing::internal::CaptureStderr();
    check_plugin(faulty(), small(kernel, {"within_bound"}));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told("wrong"),
              testing::ContainsRegex("^flashproof: softmax.wrong.test f32 already fails within_bound on softmax:normal:"
                                     "[01]:[^\n]*; going on to see where else, and why\n$"));
  EXPECT_EQ(told("right"), "");
}

/// The law that a fault fails, and what is said of it.
struct Finding {
  const char *kernel, *law;
  Failure failure;
  const char* detail;

  friend std::ostream& operator<<(std::ostream& out, const Finding& f) { return out << f.kernel << " " << f.law; }
};

class Faults : public testing::TestWithParam<Finding> {};

TEST_P(Faults, is_a_finding_of_its_law) {
  const Finding& expected = GetParam();
  PluginCheck options = small(expected.kernel, {expected.law});
  if (std::string_view(expected.kernel) == "hang") options.seconds = 0.2, options.families = {"normal"};
  const PluginReport report = check_plugin(faulty(), options);
  EXPECT_FALSE(report.partial) << report.failure;
  const PluginResult& r = result(report, expected.law);
  ASSERT_TRUE(r.failure) << expected.law;
  EXPECT_EQ(r.failure->verdict.failure, expected.failure) << r.failure->verdict.detail;
  EXPECT_THAT(r.failure->verdict.detail, HasSubstr(expected.detail));
  EXPECT_TRUE(report.found());
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(Finding{"crash", "call_returns", Failure::error, "the process "},
                    Finding{"far", "call_returns", Failure::error, "the process "},
                    Finding{"hang", "call_returns", Failure::error, "gave no result within 0.2 s"},
                    Finding{"leave", "call_returns", Failure::error, "the process exited with code"},
                    Finding{"after", "call_returns", Failure::error, "beyond the last element of o"},
                    Finding{"input", "call_returns", Failure::error, "wrote to its input x"},
                    Finding{"return_error", "call_returns", Failure::error, "out of"},
                    Finding{"return_17", "call_returns", Failure::error, "returned 17"},
                    Finding{"unwritten", "outputs_fully_written", Failure::unwritten, ""},
                    Finding{"wrong", "within_bound", Failure::exceeds_bound, "bound"},
                    Finding{"unsteady", "rerun_is_bitwise", Failure::nondeterministic, "a second run"},
                    Finding{"from_workspace", "rerun_is_bitwise", Failure::nondeterministic, "a second run"},
                    Finding{"leak", "unused_storage_is_isolated", Failure::leak, ""}),
    [](const auto& info) { return std::string(info.param.kernel); });

TEST(CheckPlugin, a_kernel_that_takes_nothing_is_a_finding) {
  const PluginReport report = check_plugin(faulty(), small("refuse", {"within_bound"}));
  EXPECT_EQ(report.untested().size(), 1U);
  EXPECT_TRUE(report.found());
  EXPECT_THAT(result(report, kCallReturns).does_not_apply, HasSubstr("not today"));
}

TEST(CheckPlugin, one_kernel_that_crashes_leaves_the_others_alone_whatever_the_jobs) {
  PluginCheck options = small("*", {"within_bound"});
  options.kernels = {"softmax.crash.test", "softmax.right.test", "softmax.leave.test"};
  for (const int jobs : {1, 3}) {
    options.jobs = jobs;
    const PluginReport report = check_plugin(faulty(), options);
    for (const PluginResult& r : report.results) {
      const bool expected = r.law == kCallReturns && r.kernel->id != "softmax.right.test";
      EXPECT_EQ(r.failure.has_value(), expected) << r.kernel->id << " " << r.law;
    }
  }
}

TEST(CheckPlugin, after_many_crashes_the_cases_that_are_not_run_are_counted_as_such) {
  PluginCheck options = small("crash", {"within_bound"});
  options.families.clear();
  options.cases = 4;
  const PluginReport report = check_plugin(faulty(), options);
  EXPECT_EQ(report.outcomes.front().refused, 0U);
  EXPECT_GT(report.outcomes.front().not_asked, 0U);
  EXPECT_EQ(report.outcomes.front().suggestion, "") << "nothing explains a kernel that fails";
  const std::string text = block_text(plugin_block(report, faulty(), "./flashproof"), Colour::off);
  EXPECT_THAT(text, HasSubstr("the call of the kernel failed; the process was killed by signal"));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("not run    {} cases, since the kernel had ended or held up too many processes",
                                    report.outcomes.front().not_asked)));
  EXPECT_THAT(text, Not(HasSubstr("undecided")));
}

TEST(CheckPlugin, a_replay_adds_the_diagnosis_to_the_element) {
  PluginCheck options = small("unwritten", {"outputs_fully_written"});
  options.replay = {make_case(parse_case_spec("softmax:normal:1:format=f32"))};
  const PluginReport report = check_plugin(faulty(), options);
  const std::string text = block_text(plugin_block(report, faulty(), "./flashproof"), Colour::off);
  EXPECT_THAT(text, HasSubstr("output elements that were never written; "));
  EXPECT_THAT(text, HasSubstr("\ndiagnosis  elements are never written: the poison's pattern is in the output"));
}

TEST(CheckPlugin, a_finding_leaves_a_simpler_witness_that_fails_again) {
  std::string folder = (std::filesystem::temp_directory_path() / "flashproof-plugin-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  PluginCheck options = small("wrong", {"within_bound"});
  options.out = folder;
  const PluginReport report = check_plugin(faulty(), options);
  const PluginResult& r = result(report, "within_bound");
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->witness, folder + "/witnesses/faulty/softmax.wrong.test.f32.within_bound.safetensors");
  EXPECT_NE(r.failure->shrunk, "");
  const Witness witness = read_witness(r.failure->witness);
  EXPECT_EQ(witness.notes.at("law"), "within_bound");
  EXPECT_LE(std::get<SoftmaxProblem>(witness.content.problem).x.elements(), 2);
  PluginCheck again = small("wrong", {"within_bound"});
  again.replay = {witness.content};
  EXPECT_TRUE(check_plugin(faulty(), again).found());
  again.kernels = {"softmax.right.test"};
  EXPECT_FALSE(check_plugin(faulty(), again).found());
  std::filesystem::remove_all(folder);
}

TEST(CheckPlugin, a_kernel_that_changes_the_folder_does_not_move_the_witness) {
  std::string folder = (std::filesystem::temp_directory_path() / "flashproof-plugin-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  PluginCheck options = small("wanders", {"within_bound"});
  options.out = "out";
  const PluginReport report = check_plugin(faulty(), options);
  const PluginResult& r = result(report, "within_bound");
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->witness, "out/witnesses/faulty/softmax.wanders.test.f32.within_bound.safetensors");
  EXPECT_NE(r.failure->shrunk, "");
  EXPECT_LE(std::get<SoftmaxProblem>(read_witness(r.failure->witness).content.problem).x.elements(), 2);
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

TEST(CheckPlugin, a_listing_says_what_kernels_take) {
  const std::string text = plugin_text(Plugin(kFolder / "adversary.so"));
  EXPECT_THAT(text, HasSubstr("\n    takes "));
  EXPECT_THAT(text, HasSubstr("strides: any"));
  EXPECT_THAT(text, HasSubstr("\n    limits k_length 0 to 1\n"));
  EXPECT_THAT(text, HasSubstr("\n    limits cols 1\n"));
  EXPECT_THAT(plugin_text(Plugin(kFolder / "evasive.so")), HasSubstr("\n    takes row_length\n"));
}

TEST(CheckPlugin, kernels_on_device_pointers) {
  const Plugin device(kFolder / "faulty_device.so");
  EXPECT_FALSE(check_plugin(device, small("right", {"within_bound", "red_zones_untouched"})).found());
  EXPECT_TRUE(check_plugin(device, small("wrong", {"within_bound"})).found());
  ::setenv("FAKE_CUDA_FAULT", "709", 1);  // as after a cudaDeviceReset()
  const PluginReport reset = check_plugin(device, small("right", {"within_bound"}));
  ASSERT_TRUE(result(reset, kCallReturns).failure) << reset.failure;
  EXPECT_THAT(result(reset, kCallReturns).failure->verdict.detail, HasSubstr("context is destroyed"));
  ::setenv("FAKE_CUDA_FAULT", "700", 1);
  const PluginReport fault = check_plugin(device, small("right", {"within_bound"}));
  ::unsetenv("FAKE_CUDA_FAULT");
  ASSERT_TRUE(result(fault, kCallReturns).failure);
  EXPECT_THAT(result(fault, kCallReturns).failure->verdict.detail, HasSubstr("illegal memory access"));
  EXPECT_FALSE(fault.partial) << fault.failure;
  EXPECT_FALSE(result(fault, "within_bound").failure) << "what follows in a lost context says nothing of its own";
  ::setenv("FAKE_CUDA_NO_DEVICE", "1", 1);
  const PluginReport none = check_plugin(device, small("right", {"within_bound"}));
  ::unsetenv("FAKE_CUDA_NO_DEVICE");
  EXPECT_TRUE(none.results.empty());
  EXPECT_EQ(none.need_gpu.size(), 1U);
  EXPECT_EQ(none.why_no_gpu, "no CUDA device");
}

TEST(CheckPlugin, wrong_names_and_cases_are_refused) {
  EXPECT_THROW(check_plugin(faulty(), small("write", {})), UsageError);
  EXPECT_THROW(check_plugin(faulty(), small("right", {"within_bond"})), UsageError);
  PluginCheck options = small("right", {});
  options.families = {"lse_gaps"};  // of merges alone
  EXPECT_THROW(check_plugin(faulty(), options), UsageError);
}

TEST(PluginAnswer, comes_back_as_it_was_or_not_at_all) {
  const PluginAnswer answer{{VerdictKind::fail, Failure::leak, "o[row 1, column 2] is %s\nand more"}, 0.75};
  const PluginAnswer back = PluginAnswer::parse(answer.text());
  EXPECT_EQ(back.verdict.kind, VerdictKind::fail);
  EXPECT_EQ(back.verdict.failure, Failure::leak);
  EXPECT_EQ(back.verdict.detail, "o[row 1, column 2] is %s?and more");
  EXPECT_EQ(back.ratio, 0.75);
  EXPECT_EQ(PluginAnswer::parse(PluginAnswer{}.text()).ratio, -1);
  for (const char* text : {"", "x", "1", "9 0 1 x", "0 77 1 x", "-1 0 1 x", "0 0 x"}) {
    EXPECT_THROW(PluginAnswer::parse(text), UsageError) << text;
  }
}

TEST(PluginMain, tells_a_plugin_from_a_kernel) {
  EXPECT_TRUE(names_plugin("./my.so") && names_plugin("my.so") && names_plugin("/a/b"));
  EXPECT_FALSE(names_plugin("softmax.row.hardened") || names_plugin("softmax.*") || names_plugin("--out=a/b"));
  const char* check[] = {"flashproof", "check", "./my.so"};
  const char* kernel[] = {"flashproof", "check", "softmax.*"};
  const char* replay[] = {"flashproof", "replay", "a/w.safetensors", "--plugin", "my.so"};
  const char* witness[] = {"flashproof", "replay", "a/w.safetensors"};
  EXPECT_TRUE(is_plugin_command(3, check) && is_plugin_command(5, replay));
  EXPECT_FALSE(is_plugin_command(3, kernel) || is_plugin_command(3, witness));
  const auto of = [](std::vector<const char*> words) {
    return is_plugin_command(static_cast<int>(words.size()), words.data());
  };
  EXPECT_TRUE(of({"flashproof", "check", "--quick", "./my"}) && of({"flashproof", "check", "--quik", "my.so"}));
  EXPECT_TRUE(of({"flashproof", "check", "--seed", "3", "--jobs=2", "./my"}) && of({"flashproof", "check", "my.c"}));
  EXPECT_TRUE(of({"flashproof", "check", "--nightly", "./my"}) && of({"flashproof", "check", "--verbose", "./my"}));
  EXPECT_FALSE(of({"flashproof", "check", "softmax.*", "--profile", "a/profile.json"}));
  EXPECT_FALSE(of({"flashproof", "check", "softmax.*", "--json", "a/b.json"}));
}

}  // namespace
}  // namespace flashproof
