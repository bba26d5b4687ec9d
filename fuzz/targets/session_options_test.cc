#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fuzz/targets/session.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

SessionOptions taken(std::vector<std::string> arguments, int* left = nullptr) {
  arguments.insert(arguments.begin(), "fuzz_x");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  SessionOptions options = take_options(argc, argv.data());
  if (left != nullptr) *left = argc;
  return options;
}

TEST(SessionOptions, are_taken_out_and_the_engines_stay) {
  int left = 0;
  const SessionOptions o =
      taken({"-runs=5", "--kernel=a.b", "corpus", "--format=f16", "--guide=edges", "--exec=cpu"}, &left);
  EXPECT_EQ(left, 3);
  EXPECT_EQ(o.kernel, "a.b");
  EXPECT_EQ(o.guide, Guide::edges);
  EXPECT_EQ(*taken({"--climb=30", "d", "--archive=x"}).climb, 30);
}

TEST(SessionOptions, wrong_ones_are_refused_in_one_line) {
  const std::vector<std::vector<std::string>> wrong = {{"--nonsense"},
                                                       {"--kernel="},
                                                       {"--kernel=a"},
                                                       {"--format=f32"},
                                                       {"--exec=tpu"},
                                                       {"--guide=x"},
                                                       {"--climb=30"},
                                                       {"--climb=0", "d"},
                                                       {"--minimise=x"},
                                                       {"--minimise=5"},
                                                       {"--hunt=5", "d", "--archive=x", "--exec=cuda"},
                                                       {"--hunt=5"},
                                                       {"--threads=0"},
                                                       {"--seed=x"},
                                                       {"--stop-on-finding"},
                                                       {"--describe"},
                                                       {"--seeds", "a"},
                                                       {"--climb=5", "-runs=1"}};
  for (const auto& arguments : wrong) {
    try {
      taken(arguments);
      ADD_FAILURE() << arguments.front();
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
  }
}

}  // namespace
}  // namespace flashproof
