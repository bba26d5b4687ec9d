#include "reports/diagnose/hypotheses/counterfactual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/registry.h"
#include "properties/generators/family.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/bound/bound.h"

namespace flashproof {
namespace {

Problem problem_of(const char* recipe) { return make_case(parse_case_spec(recipe)).problem; }

std::vector<Arithmetic> arithmetics() {
  std::vector<Arithmetic> list;
  for (const Kernel& kernel : kernels()) list.push_back(kernel.arithmetic);
  // Everything that a declaration can say and no kernel above may.
  Arithmetic rich = {.reduction = Reduction::chunk_normalized};
  rich.exponent = Exponent::fused;
  rich.exp_error = rich.log_error = rich.reciprocal_error = 0x1p-22;
  rich.dot = {.unit = kHopperF16, .tf32_inputs = true};
  rich.values = {.unit = kHopperWgmmaFp8, .tf32_inputs = true};
  rich.weights = {.format = Format::e4m3fn};
  rich.query = Format::bf16;
  rich.lazy_log2 = 8;
  rich.split = {.parts = 4, .combine = Reduction::pairwise_fold, .partial_o = Format::bf16, .partial_lse = Format::f16};
  rich.lse_form = LseForm::base2;
  rich.ending = Ending::multiply_reciprocal;
  rich.underflow = Underflow::flush;
  rich.lanes = 8;
  list.push_back(rich);
  Arithmetic other = {.reduction = Reduction::pairwise_fold};
  other.exponent = Exponent::scaled_exp2;
  other.merge_weights = MergeWeights::one_sided;
  list.push_back(other);
  return list;
}

TEST(Counterfactual, every_change_applies_somewhere_and_leaves_the_problem_valid) {
  const Problem problems[] = {problem_of("softmax:normal:1:cols=256,chunk=32"), problem_of("merge:normal:1:n=4"),
                              problem_of("attention:normal:1:sk=64,chunk=16")};
  std::set<std::string_view> texts;
  for (const Change& change : changes()) {
    texts.insert(change.text);
    int applied = 0;
    for (const Problem& problem : problems) {
      for (const Arithmetic& arithmetic : arithmetics()) {
        Problem p = problem;
        Arithmetic a = arithmetic;
        applied += change.apply(p, a) ? 1 : 0;
        EXPECT_NO_THROW(validate(p)) << change.text;
      }
    }
    EXPECT_GT(applied, 0) << change.text;
  }
  EXPECT_EQ(texts.size(), changes().size());
}

TEST(Counterfactual, lists_what_lowers_the_bound_by_its_factor_the_largest_first) {
  const Case subject = make_case(parse_case_spec("attention:normal:3:sq=2,sk=64,chunk=8"));
  const Problem& problem = subject.problem;
  const Kernel& kernel = *find_kernel("attention.online_chunk.hardened");
  const Arithmetic arithmetic = kernel.arithmetic;
  const Bound bound = compute_bound(problem, arithmetic);
  int tried = 0;
  const auto list = improvements(subject, kernel, Part::o, 3, bound.o[3].total(), &tried);
  EXPECT_GE(tried, static_cast<int>(list.size()));
  ASSERT_FALSE(list.empty());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_GE(list[i].factor, 1.05) << list[i].text;
    EXPECT_LE(list[i].factor, list[i > 0 ? i - 1 : 0].factor);
  }
  // The factor is that of the bound recomputed.
  Problem joined = problem;
  auto& attention = std::get<AttentionProblem>(joined);
  attention.plan = ChunkPlan::uniform(attention.k_length(), attention.k_length());
  const double factor = bound.o[3].total() / compute_bound(joined, arithmetic).o[3].total();
  const auto one_chunk =
      std::find_if(list.begin(), list.end(), [](const Improvement& i) { return i.text == "all keys in one chunk"; });
  if (factor >= 1.05) {
    ASSERT_NE(one_chunk, list.end());
    EXPECT_DOUBLE_EQ(one_chunk->factor, factor);
  }
}

TEST(Counterfactual, a_bound_that_nothing_lowers_gives_an_empty_list) {
  const Case subject = make_case(parse_case_spec("attention:normal:3:sq=2,sk=64"));
  EXPECT_TRUE(improvements(subject, *find_kernel("attention.deferred.hardened"), Part::o, 0, 0.0).empty());
}

TEST(Counterfactual, every_change_of_a_backward_pass_applies_somewhere_once) {
  BackwardArithmetic rich{.exponent = Exponent::fused, .unit = ScoreUnit::raw, .exp_error = 0x1p-22};
  rich.dot.unit = kHopperF16;
  rich.p = rich.ds = rich.dp = rich.dk.partial = Format::bf16;
  rich.scale = GradientScale::weights;
  rich.delta = DeltaSum::weights;
  rich.apart = true;
  rich.underflow = Underflow::flush;
  const BackwardArithmetic other{.exponent = Exponent::scaled_exp2};
  std::set<std::string_view> texts;
  for (const BackwardChange& change : backward_changes()) {
    texts.insert(change.text);
    int applied = 0;
    for (BackwardArithmetic a : {rich, other}) applied += change.apply(a) ? 1 : 0;
    EXPECT_GT(applied, 0) << change.text;
  }
  EXPECT_EQ(texts.size(), backward_changes().size());
}

// This kernel keeps P and dS in bf16, as its matrix unit needs them.
TEST(Counterfactual, knows_what_lowers_the_bound_of_a_gradient) {
  const Case subject = make_case(parse_case_spec("attention_backward:normal:3:format=bf16"));
  const Kernel& kernel = *find_kernel("attention_backward.fused.hardened");
  CaseTruth truth(subject);
  const Bound bound = judged_bound(kernel, subject, truth);
  const auto list = improvements(subject, kernel, Part::dq, 0, bound.dq[0].total());
  for (const Improvement& i : list) EXPECT_GE(i.factor, 1.05) << i.text;
  EXPECT_THAT(list, testing::Contains(testing::Field(&Improvement::text, "dS kept in f32")));
}

}  // namespace
}  // namespace flashproof
