// The backward kernels against certified truth and the bound of what they declare: on the families, on random problems of
// every feature and on hard kinds; declarations that promise too much are rejected. Relating laws: properties/driver; seeded faults:
// properties/laws/test/teeth_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/system/error.h"
#include "reports/run/sweep.h"

namespace flashproof {
namespace {

struct GradientCase {
  std::string line;
  BackwardProblem problem;
  Truth truth;
  ForwardErrors forward;

  Case content() const { return {{ProblemKind::backward, "case", 0, {}}, problem}; }
};

GradientCase judged_case(std::string line, BackwardProblem problem) {
  GradientCase c{std::move(line), std::move(problem), {}, {}};
  c.truth = backward_truth(c.problem, c.problem.forward.q.format);
  c.forward = forward_errors(c.problem);
  return c;
}

/// Every row of the covering array, in formats in turn.
const std::vector<GradientCase>& row_cases() {
  static const std::vector<GradientCase> cases = [] {
    std::vector<GradientCase> list;
    for (std::uint64_t row = 0; row < find_family("pairs")->round(ProblemKind::backward); ++row) {
      const std::string format(info(kStorageFormats[row % 3]).name);
      std::string line = "attention_backward:pairs:" + std::to_string(row) + ":format=" + format;
      BackwardProblem problem = std::get<BackwardProblem>(make_case(parse_case_spec(line)).problem);
      list.push_back(judged_case(std::move(line), std::move(problem)));
    }
    return list;
  }();
  return cases;
}

/// Every family that serves attention and has no rows of its own for gradients, three seeds of each format.
const std::vector<GradientCase>& family_cases() {
  static const std::vector<GradientCase> cases = [] {
    std::vector<GradientCase> list;
    const Plan plan = make_plan({{"attention_backward.*"}, {}, {}}, 3, 0, {Executor::cpu});
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
      if (find_family(plan.cases[i].spec.family)->gradient != nullptr) continue;
      try {
        list.push_back(judged_case(to_string(plan.cases[i].spec), std::get<BackwardProblem>(plan.make(i).problem)));
      } catch (const UsageError&) {  // a feature without a gradient
      }
    }
    return list;
  }();
  return cases;
}

CaseResult ask(const Kernel& kernel, const GradientCase& c, const BackwardArithmetic& arithmetic) {
  const Bound bound = backward_bound(c.problem, arithmetic, c.forward);
  const Output gradients = run(kernel, c.problem);
  const Judgement judgement = judge(gradients, c.truth, bound, kernel.contract, 0);
  const Case content = c.content();
  return evaluate({kernel, content, gradients, c.truth, bound, judgement}, 0, 2);
}

CaseResult ask(const Kernel& kernel, const GradientCase& c) {
  return ask(kernel, c, kernel.backward_for(c.problem.forward.q.format).front());
}

/// Hardened kernels pass; how many did.
int expect_right(const GradientCase& c) {
  int passed = 0;
  for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
    if (kernel.form != Form::hardened || !kernel.unsupported(c.problem).empty()) continue;
    // Raw scores beside a bias or ALiBi: no bound, and so no verdict.
    const Format format = c.problem.forward.q.format;
    if (!backward_refused(c.problem.forward, kernel.backward_for(format)).empty()) continue;
    const CaseResult result = ask(kernel, c);
    EXPECT_LT(result.verdict.kind, VerdictKind::inconclusive)
        << kernel.id << " " << c.line << ": " << to_string(result.verdict) << " " << result.verdict.detail;
    passed += result.verdict.kind == VerdictKind::pass ? 1 : 0;
  }
  return passed;
}

TEST(BackwardKernels, hardened_kernels_are_right_on_every_family) {
  int passed = 0;
  for (const GradientCase& c : family_cases()) passed += expect_right(c);
  EXPECT_GT(passed, 300);
}

TEST(BackwardKernels, hardened_kernels_are_right_on_every_row_of_the_covering_array) {
  int passed = 0;
  for (const GradientCase& c : row_cases()) passed += expect_right(c);
  EXPECT_GT(passed, std::ssize(row_cases()));
}

TEST(BackwardKernels, hardened_kernels_are_right_on_random_problems_of_every_feature) {
  Random random(11, 4);
  int passed = 0;
  std::set<std::string> features;
  for (int round = 0; round < 120; ++round) {
    const Format format = kStorageFormats[round % 3];
    const GradientCase c = judged_case("random " + std::to_string(round), test::random_backward(random, format));
    const AttentionProblem& f = c.problem.forward;
    if (f.has(Feature::window)) features.insert("window");
    if (f.has_alibi()) features.insert("alibi");
    if (f.has_bias()) features.insert("bias");
    if (f.causal) features.insert("causal");
    if (!f.key_length.empty()) features.insert("key_length");
    if (f.q_heads() > f.k_heads()) features.insert("group");
    if (c.problem.o.format != format) features.insert("o of another format");
    passed += expect_right(c);
  }
  EXPECT_EQ(features.size(), 7U);
  EXPECT_GT(passed, 150);
}

TEST(BackwardKernels, hardened_kernels_are_right_on_hard_kinds) {
  Random random(5, 9);
  int passed = 0;
  for (const test::BackwardKind& kind : test::hard_backward_kinds()) {
    for (int round = 0; round < 9; ++round) {
      passed += expect_right(judged_case(kind.name, kind.make(random, kStorageFormats[round % 3])));
    }
  }
  EXPECT_GT(passed, 40);
}

/// Gradients that within_bound must not believe: zeros, and two rows exchanged.
TEST(BackwardKernels, trivial_outputs_are_rejected) {
  const Kernel& kernel = *find_kernel("attention_backward.two_kernels.hardened");
  const auto zeros = [](Tensor& tensor) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_bits(i, 0);
  };
  const auto exchanged = [](Tensor& tensor) {
    const std::int64_t width = tensor.shape[3];
    const std::int64_t last = tensor.elements() / width - 1;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::uint64_t first = tensor.bits(i);
      tensor.set_bits(i, tensor.bits(last * width + i));
      tensor.set_bits(last * width + i, first);
    }
  };
  for (const char* format : {"f32", "f16", "bf16"}) {
    // Large enough for every row to matter, with weights that are neither 0 nor 1.
    const std::string line =
        "attention_backward:normal:1:b=1,causal=0,d=16,dv=16,hk=2,hq=2,mode=stage,scale=0.3,sk=24,sq=8,format=" +
        std::string(format);
    const GradientCase c = judged_case(line, std::get<BackwardProblem>(make_case(parse_case_spec(line)).problem));
    ASSERT_EQ(kernel.unsupported(c.problem), "") << line;
    const Bound bound = backward_bound(c.problem, kernel.backward_for(c.problem.forward.q.format), c.forward);
    const Output right = run(kernel, c.problem);
    const auto verdict = [&](const Output& gradients) {
      const Judgement judgement = judge(gradients, c.truth, bound, kernel.contract, 0);
      const Case content = c.content();
      return judging_laws().front().judge({kernel, content, gradients, c.truth, bound, judgement});
    };
    ASSERT_EQ(to_string(verdict(right)), "pass") << c.line;
    for (Tensor Output::* part : {&Output::dq, &Output::dk, &Output::dv}) {
      Output wrong = right;
      zeros(wrong.*part);
      EXPECT_TRUE(verdict(wrong).failed()) << c.line << ": zeros pass";
      wrong = right;
      exchanged(wrong.*part);
      EXPECT_TRUE(verdict(wrong).failed()) << c.line << ": exchanged rows pass";
    }
  }
}

/// A declaration that promises more than the kernel does.
int rejections(const char* id, Format format, const std::function<void(BackwardArithmetic&)>& lie) {
  const Kernel& kernel = *find_kernel(id);
  BackwardArithmetic arithmetic = kernel.backward_for(format).front();
  lie(arithmetic);
  int rejected = 0;
  for (const GradientCase& c : family_cases()) {
    if (c.problem.forward.q.format != format || !kernel.unsupported(c.problem).empty()) continue;
    rejected += ask(kernel, c, arithmetic).failed() ? 1 : 0;
  }
  return rejected;
}

TEST(BackwardKernels, a_declaration_that_promises_too_much_is_rejected) {
  const char* const fused = "attention_backward.fused.hardened";
  EXPECT_GT(rejections(fused, Format::bf16, [](auto& a) { a.p = Format::f32; }), 0);
  EXPECT_GT(rejections(fused, Format::bf16, [](auto& a) { a.ds = Format::f32; }), 0);
  EXPECT_GT(rejections(fused, Format::f16, [](auto& a) { a.p = a.ds = Format::f32; }), 0);
  EXPECT_EQ(rejections(fused, Format::bf16, [](auto&) {}), 0);
}

}  // namespace
}  // namespace flashproof
