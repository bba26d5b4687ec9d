#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <string>

namespace flashproof {
namespace {

TEST(Registry, ids_are_unique_sorted_and_say_problem_and_form) {
  std::string before;
  for (const Kernel& kernel : kernels()) {
    const std::string id(kernel.id);
    EXPECT_LT(before, id);
    before = id;
    EXPECT_TRUE(id.starts_with(std::string(name(kernel.problem)) + ".")) << id;
    const bool broken = id.find(".broken.") != std::string::npos;
    EXPECT_EQ(broken, kernel.form == Form::broken) << id;
    EXPECT_TRUE(broken || id.ends_with("." + std::string(name(kernel.form)))) << id;
    EXPECT_EQ(broken, kernel.fault != nullptr) << id;
    EXPECT_FALSE(kernel.formats.empty()) << id;
    EXPECT_EQ(find_kernel(id), &kernel);
  }
}

TEST(Registry, holds_the_kernels_of_the_sources_and_finds_them) {
  for (const char* id : {"attention.broken.accumulator_not_rescaled",
                         "attention.deferred.hardened",
                         "attention.online_chunk.hardened",
                         "attention.online_chunk.published",
                         "merge.broken.misprinted_lse",
                         "merge.division_free.hardened",
                         "merge.nway.hardened",
                         "merge.pairwise_naive.hardened",
                         "merge.pairwise_naive.published",
                         "merge.pairwise_stable.hardened",
                         "merge.pairwise_tree.hardened",
                         "merge.ring_update.hardened",
                         "merge.ring_update.published",
                         "merge.states.hardened",
                         "merge.states_tree.hardened",
                         "softmax.broken.no_empty_guard",
                         "softmax.broken.tail_dropped",
                         "softmax.online_block.hardened",
                         "softmax.online_block.published",
                         "softmax.online_two_pass.hardened",
                         "softmax.online_two_pass.published"}) {
    const Kernel* kernel = find_kernel(id);
    ASSERT_NE(kernel, nullptr) << id;
    EXPECT_EQ(kernel->id, id);
  }
  EXPECT_EQ(find_kernel("softmax.nonsense"), nullptr);
}

}  // namespace
}  // namespace flashproof
