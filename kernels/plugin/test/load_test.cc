#include "kernels/plugin/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cfenv>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "reference/system/child_process.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const std::filesystem::path kPlugins = FLASHPROOF_TEST_PLUGINS;  // load_fault_N.so, faulty.so

template <class Error>
std::string thrown(const std::filesystem::path& path, double seconds = 30) {
  try {
    const Plugin plugin(path, seconds);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "nothing thrown";
}
std::string fault(const std::string& name, double seconds = 30) {
  return thrown<PluginFault>(kPlugins / ("load_fault_" + name + ".so"), seconds);
}

TEST(Load, a_library_says_what_it_has_and_nothing_of_it_runs_here) {
  const Plugin plugin(kPlugins / "faulty.so");
  EXPECT_EQ(plugin.name(), "faulty");
  ASSERT_EQ(plugin.kernels().size(), 29U);
  EXPECT_TRUE(std::ranges::is_sorted(plugin.kernels(), {}, &Kernel::id));
  const Kernel& kernel = plugin.kernels()[0];
  EXPECT_EQ(kernel.id, "softmax.absurd_workspace.test");
  EXPECT_TRUE(kernel.foreign);
  EXPECT_TRUE(kernel.contract.deterministic);
  EXPECT_FALSE(kernel.has_cuda);
}

TEST(Load, what_is_no_plugin_is_a_wrong_argument) {
  EXPECT_THAT(thrown<UsageError>("/nowhere/at-all.so"), HasSubstr("no such file"));
  EXPECT_THAT(thrown<UsageError>(kPlugins), HasSubstr("no regular file"));
  const auto text =
      std::filesystem::temp_directory_path() / ("flashproof-no-elf-" + std::to_string(::getpid()) + ".so");
  std::ofstream(text) << "int main;";
  EXPECT_THAT(thrown<UsageError>(text), HasSubstr("plugin"));
  std::filesystem::remove(text);
  const auto source =
      std::filesystem::temp_directory_path() / ("flashproof no-elf-" + std::to_string(::getpid()) + ".c");
  std::ofstream(source) << "int main(void) { return 0; }";
  EXPECT_THAT(thrown<UsageError>(source),
              AllOf(HasSubstr("no shared library; compile it"), HasSubstr("cc -O2 -shared -fPIC -I \"$FP\" '/"),
                    HasSubstr(".so' -lm")));
  std::filesystem::remove(source);
  EXPECT_THAT(thrown<UsageError>(kPlugins / "load_fault_99.so"), HasSubstr("no function flashproof_plugin_entry"));
}

/// The folder before a link need not be the one before where it leads.
TEST(Load, one_path_is_looked_at_and_loaded) {
  std::string made = testing::TempDir() + "flashproof-load-XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(made.data());
  std::filesystem::create_directories(folder / "a/b");
  std::filesystem::create_symlink("a/b", folder / "link");
  std::filesystem::copy_file(kPlugins / "faulty.so", folder / "a/mine.so");
  std::ofstream(folder / "mine.so") << "int main;";
  const Plugin plugin(folder / "./link/../mine.so");
  EXPECT_EQ(plugin.path(), (folder / "link/../mine.so").string());
  std::filesystem::rename(folder / "mine.so", folder / "a/text.so");
  std::filesystem::copy_file(kPlugins / "faulty.so", folder / "text.so");
  EXPECT_THAT(thrown<UsageError>(folder / "link/../text.so"), HasSubstr("no shared library"));
  std::filesystem::remove_all(folder);
}

TEST(Load, what_breaks_the_rules_is_a_finding) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "ABI version 2: this flashproof has 1"},
      {"2", "kernels[3].struct_size 8"},
      {"3", "kernel_count 0"},
      {"4", "kernels[2] is null"},
      {"5", "kernels[1]: id, description and run"},
      {"11", "returned null"},
      {"12", "was killed by signal 6"},
      {"14", "exited with code 0"},
      {"16", "reserved 7: legal 0"},
      {"17", "closed its socket to the judge"},  // and hangs
  };
  for (const auto& [name, says] : cases) EXPECT_THAT(fault(name), HasSubstr(says)) << name;
  EXPECT_THAT(fault("13", 0.3), HasSubstr("gave no result within 0.3 s"));
}

TEST(Load, a_wrong_description_is_a_wrong_argument) {
  const std::pair<const char*, const char*> cases[] = {
      {"6", "declared twice"}, {"7", "no JSON"}, {"8", "near: row_length"}, {"9", "three names"}, {"10", "problem 9"}};
  for (const auto& [name, says] : cases) {
    const std::filesystem::path path = kPlugins / ("load_fault_" + std::string(name) + ".so");
    EXPECT_THAT(thrown<UsageError>(path),
                AllOf(HasSubstr("plugin \"" + path.string() + "\": kernel "), HasSubstr(says)));
  }
}

TEST(Load, a_process_that_a_library_leaves_behind_is_a_finding_and_ended) {
  EXPECT_THAT(fault("18", 5), HasSubstr("forked: what a kernel starts must have ended"));
  EXPECT_THAT(children_of_this_process(), testing::IsEmpty());
}

TEST(Load, the_environment_that_a_library_leaves_is_its_own) {
  std::fenv_t before, after;
  std::fegetenv(&before);
  const LoadedPlugin& fast_math = LoadedPlugin::of((kPlugins / "load_fault_15.so").string());
  std::fegetenv(&after);
  EXPECT_EQ(before.__mxcsr & 0xffc0, after.__mxcsr & 0xffc0);
  EXPECT_EQ(fast_math.environment.__mxcsr & 0x8040U, 0x8040U);
}

}  // namespace
}  // namespace flashproof
