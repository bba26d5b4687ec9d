// Kernels that are wrong and end, leave, copy or attack their process: none of them passes, and each is told by what it did.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plugin/plugin_process.h"
#include "reference/system/child_process.h"
#include "reports/plugin/check.h"
#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const Plugin& hostile() {
  forbid_tracing();  // as plugin_main() does: this process counts
  static const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "hostile.so");
  return plugin;
}

PluginReport check(std::string_view kernel) {
  PluginCheck options;
  options.kernels = {"softmax." + std::string(kernel) + ".hostile"};
  options.laws = {"within_bound"};
  options.families = {"normal"};
  const bool later = kernel == "writer" || kernel == "take_memory_away" ||
                     kernel == "duplicate_memory";  // what it did to one call shows in the next
  options.cases = later ? 64 : 1;
  options.seconds = kernel == "stop_itself" ? 1 : 10;
  return check_plugin(hostile(), options);
}

/// The law that finds it, and what is said.
struct Attack {
  const char *kernel, *law, *detail;

  friend std::ostream& operator<<(std::ostream& out, const Attack& a) { return out << a.kernel; }
};

#ifdef __SANITIZE_ADDRESS__
constexpr int kRuns = 1;  // what is looked for there is the judge's own memory
#else
constexpr int kRuns = 5;
#endif

class Hostile : public testing::TestWithParam<Attack> {};

TEST_P(Hostile, a_wrong_kernel_is_a_finding_every_time) {
  const auto& [kernel, law, detail] = GetParam();
  for (int run = 0; run < kRuns; ++run) {
    const PluginReport report = check(kernel);
    EXPECT_TRUE(report.found());
    EXPECT_FALSE(report.partial) << report.failure;
    const PluginResult& result = *std::ranges::find(report.results, law, &PluginResult::law);
    ASSERT_TRUE(result.failure) << "not found by " << law;
    // What a thread of an earlier call meets is a matter of processors: the end of its memory, or what lies there in the next call.
    const bool writer = std::string_view(kernel) == "writer" || std::string_view(kernel) == "duplicate_memory";
    EXPECT_THAT(
        result.failure->verdict.detail,
        testing::AnyOf(HasSubstr(detail), HasSubstr(writer ? "wrote " : detail),
                       HasSubstr(writer ? "with other threads of the library running: the memory of a call" : detail)));
    EXPECT_THAT(children_of_this_process(), testing::IsEmpty()) << "a process was left";
  }
}

constexpr const char* kCall = kCallReturns.data();
constexpr const char* kForked = "the process forked: what a kernel starts must have ended when it returns";

INSTANTIATE_TEST_SUITE_P(
    All, Hostile,
    testing::Values(
        Attack{"fork", kCall, kForked}, Attack{"fork_twice", kCall, kForked}, Attack{"answer_in_child", kCall, kForked},
        Attack{"daemon", kCall, kForked}, Attack{"exec", kCall, "the process became another program (exec)"},
        Attack{"close_all", kCall, "the process closed its socket to the judge"},
        Attack{"write_everywhere", kCall, "the process gave an answer that was not asked for"},
        Attack{"orphan", kCall, kForked}, Attack{"sibling", kCall, kForked}, Attack{"run_away", kCall, kForked},
        Attack{"stop_itself", kCall, "the process gave no result within 1 s"},
        Attack{"answer_before_return", kCall, "the process gave an answer that was not asked for"},
        Attack{"take_memory_away", kCall, "the process cannot reach the memory of its call"},
        Attack{"writer", kCall, "had returned: the memory of a call ends with it"},
        Attack{"complain", kCall, "the kernel returned an error: "},
        Attack{"exit", kCall, "the process exited with code 0"},
        Attack{"exit_at_once", kCall, "the process exited with code 0"},
        Attack{"far_beyond", kCall, "the process was killed by signal 11"},
        Attack{"far_before", kCall, "the process was killed by signal 11"},
        Attack{"kill_parent", kCall, "the process was killed by signal 9"},
        Attack{"stop_parent", kCall, "the process was stopped by a signal"},
        Attack{"move_memory", kCall, "the process cannot reach the memory of its call"},
        Attack{"longjmp", kCall, "the process "},
        // These only try: the judge is where they cannot reach it, and the numbers are wrong.
        Attack{"trace_parent", "within_bound", "bound"}, Attack{"watch_parent", "within_bound", "bound"},
        Attack{"forge_results", "within_bound", "bound"}, Attack{"shorten_files", "within_bound", "bound"},
        Attack{"lengthen_files", "within_bound", "bound"}, Attack{"spoil_memory_file", "within_bound", "bound"},
        Attack{"second_mapping", "within_bound", "bound"},
        Attack{"duplicate_memory", kCall, "wrote after softmax.duplicate_memory.hostile had returned"},
        Attack{"print_verdict", "within_bound", "bound"}, Attack{"print_on", "within_bound", "bound"},
        Attack{"storm", "within_bound", "bound"}, Attack{"at_exit", "within_bound", "bound"},
        Attack{"destructor", "within_bound", "bound"}),
    [](const auto& info) { return std::string(info.param.kernel); });

TEST(Hostile, a_right_kernel_may_start_a_program_and_wait_for_it) {
  EXPECT_FALSE(check("right").found());
  EXPECT_FALSE(check("helper").found());
}

/// Runs the check with stderr in a file, which already has a line.
std::string printed_by(const char* kernel) {
  testing::internal::CaptureStderr();
  std::fprintf(stderr, "ours\n");
  EXPECT_TRUE(check(kernel).found());
  return testing::internal::GetCapturedStderr();
}

TEST(Hostile, what_a_library_prints_is_shown_as_text_and_not_without_end) {
  const std::string verdict = printed_by("print_verdict");
  EXPECT_THAT(verdict, testing::StartsWith("ours\n")) << "emptied the file";
  EXPECT_THAT(verdict,
              HasSubstr("\nplugin: ?[2J?]0;title????pass softmax.print_verdict.hostile ???\nplugin: no line end?"));
  const std::string much = printed_by("print_on");
  EXPECT_THAT(much, HasSubstr("plugin: xxx"));
  EXPECT_THAT(much, HasSubstr("plugin: (what it prints from here on is not shown)\n"));
  EXPECT_LT(much.size(), std::size_t{1} << 19);
}

/// Root needs a capability to open another process's descriptors, which the library's process has not; a user needs none for his own
/// processes. So the whole program runs here as a user.
TEST(Hostile, the_pipes_of_the_program_are_closed_to_other_processes_of_its_user) {
  namespace fs = std::filesystem;
  constexpr int kNoUser = 77;
  std::string folder = testing::TempDir() + "flashproof-hostile-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  fs::permissions(folder, fs::perms{0777});
  const std::string library = folder + "/hostile.so", out = folder + "/out";
  fs::copy_file(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "hostile.so", library);
  const auto become_user = [] {
    constexpr uid_t kUser = 65534;
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(kUser, kUser, kUser) != 0 ||
                             ::setresuid(kUser, kUser, kUser) != 0)) {
      ::_exit(kNoUser);
    }
    ::prctl(PR_SET_DUMPABLE, 1);  // as a program that a user starts; setresuid() has cleared it
  };
  const ProgramRun run = run_plugin_program(
      {"check", library, "--verbose", "--kernel", "softmax.forge_results.hostile", "--law", "within_bound", "--family",
       "normal", "--cases", "1", "--jobs", "1", "--seconds", "10", "--out", out},
      become_user);
  fs::remove_all(folder);
  if (run.code() == kNoUser) GTEST_SKIP() << "cannot become another user here";
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("FAIL softmax.forge_results.hostile f32 within_bound"));
}

TEST(Hostile, all_at_once) {
  PluginCheck options;
  options.laws = {"within_bound"};
  options.families = {"normal", "huge"};
  options.cases = 2;
  options.seconds = 10;
  options.jobs = 4;
  const PluginReport report = check_plugin(hostile(), options);
  EXPECT_FALSE(report.partial) << report.failure;
  for (const Kernel& kernel : hostile().kernels()) {
    const bool right = kernel.id == "softmax.right.hostile" || kernel.id == "softmax.helper.hostile";
    const bool found = std::ranges::any_of(
        report.results, [&](const PluginResult& r) { return r.kernel == &kernel && r.failure.has_value(); });
    EXPECT_NE(found, right) << kernel.id;
  }
  EXPECT_THAT(children_of_this_process(), testing::IsEmpty());
}

}  // namespace
}  // namespace flashproof
