#include "fuzz/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/search/starts.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const Kernel& kernel(const char* id) { return *find_kernel(id); }

TEST(Climb, parents_are_the_best_of_each_term_and_children_have_one_change_more) {
  Climb climb(ProblemKind::softmax, 7);
  Random random(1, 2);
  EXPECT_FALSE(climb.child(random));
  const FuzzInput plain = random_inputs(ProblemKind::softmax, random, 1).front();
  EXPECT_TRUE(climb.offer({plain}, {{"o.weights", 0.5, 3, 4}}));
  EXPECT_FALSE(climb.offer({plain}, {{"o.weights", 0.4, 0, 0}}));
  const auto child = climb.child(random);
  ASSERT_TRUE(child);
  EXPECT_THAT(child->input.origin.mutations, testing::ElementsAre(Mutation{7, 3, 4}));
}

TEST(Climb, a_term_that_dominates_is_better_than_any_that_does_not) {
  Climb climb(ProblemKind::softmax, 1);
  EXPECT_TRUE(climb.offer({}, {{"o.weights", 0.9, 0, 0, 0.5}}));
  EXPECT_TRUE(climb.offer({}, {{"o.weights", 0.1, 0, 0, 0.6}})) << "a larger share";
  EXPECT_TRUE(climb.offer({}, {{"o.weights", 0.2, 0, 0, kDominates}}));
  EXPECT_FALSE(climb.offer({}, {{"o.weights", 0.9, 0, 0, 0.7}}));
  EXPECT_FALSE(climb.offer({}, {{"o.weights", 0.1, 0, 0, 0.9}}));
  ASSERT_EQ(climb.parents().size(), 1U);
  EXPECT_EQ(climb.parents().front().best.ratio, 0.2);
}

/// What a child's problem is does not depend on whether the parent's was known.
TEST(Climb, a_child_is_the_parent_with_one_change) {
  const CaseSpec spec = parse_case_spec("softmax:normal:1:rows=4,cols=16");
  Climb with(ProblemKind::softmax, 1), without(ProblemKind::softmax, 1);
  Random random(1, 2);
  const FuzzInput input{.origin = {spec, {{3, 0, 0}}}};
  with.offer({input, input.origin.make()}, {{"o.weights", 0.5, 1, 2}});
  without.offer({input}, {{"o.weights", 0.5, 1, 2}});
  const auto one = with.child(random), other = without.child(random);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->input, other->input);
  EXPECT_EQ(*one->problem, other->input.origin.make());
  EXPECT_FALSE(other->problem);
}

TEST(Climb, a_parent_without_room_is_passed_over) {
  Climb climb(ProblemKind::softmax, 1);
  Random random(1, 2);
  FuzzInput input{.origin = {parse_case_spec("softmax:normal:1"), {}}};
  climb.offer({input}, {{"o.weights", 0.5, 1, 2}});
  input.origin.mutations.resize(kMostMutations);
  climb.offer({input}, {{"o.output", 0.5, 1, 2}});
  for (int i = 0; i < 3; ++i) {
    const auto child = climb.child(random);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->input.origin.mutations.size(), 1U);
  }
}

TEST(Starts, siblings_differ_in_their_seed_alone) {
  Random random(1, 2);
  const auto inputs = random_inputs(ProblemKind::attention, random, 16);
  std::set<std::uint64_t> seeds;
  for (FuzzInput input : inputs) {
    seeds.insert(input.origin.spec.seed);
    input.origin.spec.seed = inputs[0].origin.spec.seed;
    EXPECT_EQ(input, inputs[0]);
    EXPECT_TRUE(encode_input(input));
  }
  EXPECT_EQ(seeds.size(), 16U);
}

TEST(Starts, of_the_ledger_have_its_shape_and_only_finite_entries) {
  EXPECT_TRUE(full_case(parse_case_spec("softmax:normal:1:rows=4,cols=512")));
  EXPECT_FALSE(full_case(parse_case_spec("softmax:mask_first_tile:1:rows=4,cols=512")));
  EXPECT_FALSE(full_case(parse_case_spec("softmax:special_values:1:rows=4,cols=512")));
}

std::vector<Climb::Parent> searched(const char* id, int steps) {
  Search search(kernel(id), Format::f32, 5);
  for (int i = 0; i < steps; ++i) search.step();
  EXPECT_EQ(search.evaluations(), static_cast<std::uint64_t>(steps));
  return search.best();
}

TEST(Search, of_one_seed_finds_the_same_again) {
  const auto one = searched("merge.pairwise_stable.hardened", 200),
             other = searched("merge.pairwise_stable.hardened", 200);
  ASSERT_EQ(one.size(), other.size());
  std::size_t climbed = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].best.ratio, other[i].best.ratio);
    EXPECT_EQ(one[i].candidate.input, other[i].candidate.input);
    climbed += one[i].candidate.input.origin.mutations.empty() ? 0 : 1;
    // A campaign's archive takes them.
    EXPECT_TRUE(encode_input(one[i].candidate.input));
  }
  EXPECT_GT(climbed, 0U);
}

TEST(Search, of_a_gradient_changes_its_inputs_and_d_out) {
  std::size_t of_d_out = 0, of_forward = 0;
  for (const Climb::Parent& p : searched("attention_backward.two_kernels.hardened", 220)) {
    for (const Mutation& m : p.candidate.input.origin.mutations) {
      ++((m.column & kChangesDOut) != 0 ? of_d_out : of_forward);
    }
    EXPECT_EQ(*p.candidate.problem, p.candidate.input.origin.make());
  }
  EXPECT_GT(of_d_out, 0U);
  EXPECT_GT(of_forward, 0U);
}

/// The negative control: errors that the declared arithmetic does not explain do not become a record, they are reported.
TEST(Search, a_kernel_that_leaves_its_bound_is_a_violation_with_its_case) {
  Search search(kernel("attention.broken.accumulator_not_rescaled"), Format::f32, 3);
  for (int i = 0; i < 60 && search.violation().empty(); ++i) search.step();
  EXPECT_THAT(search.violation(), HasSubstr("error"));
  EXPECT_FALSE(search.violation_origin().spec.family.empty());
  for (const Climb::Parent& p : search.best()) EXPECT_LE(p.best.ratio, 1) << p.best.term;
}

void launch_fault(const MergeArgs&, Stream) { throw KernelFault("it broke down"); }

TEST(Search, a_run_that_breaks_down_is_a_violation) {
  Kernel breaks = kernel("merge.pairwise_stable.hardened");
  breaks.launch = launch_fault;
  Search search(breaks, Format::f32, 3);
  for (int i = 0; i < 60 && search.violation().empty(); ++i) search.step();
  EXPECT_THAT(search.violation(), HasSubstr("it broke down"));
}

}  // namespace
}  // namespace flashproof
