// What a worker is told.
#include "fuzz/campaign/worker/worker_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/worker/crashes.h"

namespace flashproof {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

WorkerPlan plan(const std::string& target) {
  WorkerPlan result;
  result.program = "/build/fuzz_" + target;
  result.archive = "/out/archive.sqlite";
  result.corpus = "/out/corpus/k.f32";
  result.artifact_prefix = "/out/artifacts/k.f32-0of1.1-";
  result.subject = {target, "k", "f32", "cpu", "det"};
  result.run_id = "0of1.1";
  result.guide = "counters";
  result.seed = 7;
  return result;
}
Command words(const std::string& target, Job::Kind kind) { return worker_command(plan(target), {kind, 0, 2.5}); }

TEST(WorkerCommand, every_kind_says_subject_archive_and_run) {
  for (const auto kind : {Job::Kind::fuzz, Job::Kind::climb, Job::Kind::minimise}) {
    const Command command = words("softmax", kind);
    EXPECT_EQ(command.front(), "/build/fuzz_softmax");
    for (const char* word :
         {"--kernel=k", "--format=f32", "--exec=cpu", "--archive=/out/archive.sqlite", "--run=0of1.1"}) {
      EXPECT_THAT(command, Contains(word));
    }
  }
}

TEST(WorkerCommand, the_engine_has_the_one_limit_of_the_target) {
  EXPECT_THAT(words("softmax", Job::Kind::fuzz), Contains("-max_len=4096"));
  EXPECT_THAT(words("witness", Job::Kind::fuzz), Contains("-max_len=65536"));
  EXPECT_EQ(longest_input("softmax"), 4096U);
}

TEST(WorkerCommand, a_climb_keeps_its_input_where_the_driver_looks) {
  const Command command = words("softmax", Job::Kind::climb);
  EXPECT_THAT(command, Contains("--climb=3"));
  EXPECT_THAT(command, Contains("--climbing=" + climbing_file(plan("softmax").artifact_prefix).string()));
  EXPECT_EQ(command.back(), "/out/corpus/k.f32");
  EXPECT_THAT(words("softmax", Job::Kind::fuzz), Each(Not(StartsWith("--climb"))));
  WorkerPlan other = plan("softmax");
  other.artifact_prefix = "/out/artifacts/k.f32-0of1.2-";  // of the same subject at the same time
  EXPECT_NE(climbing_file(other.artifact_prefix), climbing_file(plan("softmax").artifact_prefix));
}

TEST(WorkerCommand, a_gpu_gets_batches_and_no_engine) {
  WorkerPlan gpu = plan("softmax");
  gpu.subject.executor = "cuda";
  gpu.suspects = "/out/suspects/k.f32";
  gpu.threads = 12;
  const Command command = worker_command(gpu, {Job::Kind::fuzz, 0, 2.5});
  for (const char* word : {"--exec=cuda", "--hunt=3", "--threads=12", "--suspects=/out/suspects/k.f32"})
    EXPECT_THAT(command, Contains(word));
  EXPECT_EQ(command.back(), "/out/corpus/k.f32");
  EXPECT_THAT(command, Each(Not(StartsWith("-max_len"))));
  EXPECT_THAT(words("softmax", Job::Kind::fuzz), Each(Not(StartsWith("--hunt"))));
}

TEST(WorkerCommand, minimising_has_tries_that_fit_its_time) {
  EXPECT_THAT(words("softmax", Job::Kind::minimise), Contains("--minimise=2000"));
}

TEST(WorkerCommand, a_list_is_asked_of_an_executor) {
  EXPECT_THAT(list_command("/build/fuzz_softmax", "cuda"), ElementsAre("/build/fuzz_softmax", "--exec=cuda", "--list"));
}

TEST(WorkerEnvironment, names_the_symbolizer_that_is_installed_unless_the_user_does) {
  std::string folder = testing::TempDir() + "flashproof-symbolizer-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = ::getenv("PATH"), symbolizer = folder + "/llvm-symbolizer-19";
  std::ofstream(symbolizer) << "#!/bin/sh\n";
  std::filesystem::permissions(symbolizer, std::filesystem::perms::owner_all);
  ::setenv("PATH", (folder + ":" + path).c_str(), 1);
  ::unsetenv("ASAN_SYMBOLIZER_PATH");
  set_worker_environment();
  EXPECT_EQ(std::string(::getenv("ASAN_SYMBOLIZER_PATH")), symbolizer);
  ::setenv("ASAN_SYMBOLIZER_PATH", "mine", 1);
  set_worker_environment();
  EXPECT_STREQ(::getenv("ASAN_SYMBOLIZER_PATH"), "mine");
  ::unsetenv("ASAN_SYMBOLIZER_PATH");
  ::setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace flashproof
