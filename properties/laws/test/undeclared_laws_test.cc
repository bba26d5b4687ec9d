// What the laws ask of a kernel that does not declare itself deterministic: the same numbers within both bounds, no more, and no pass
// where nothing could be compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "properties/laws/test/teeth_check.h"
#include "reference/bound/alternatives.h"
#include "reference/model/backward_model.h"
#include "reference/model/model.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

constexpr const char* kSoftmaxCase = "softmax:normal:1:rows=4,cols=40,chunk=16,format=f32";
constexpr const char* kCausalCase = "attention:normal:1:b=1,hq=1,hk=1,sq=8,sk=8,d=16,dv=16,causal=1,format=f32";
constexpr const char* kSharedCase = "attention:normal:1:b=1,hq=2,hk=1,sq=8,sk=8,d=16,dv=16,causal=1,format=f16";

Kernel undeclared(std::string_view id) {
  Kernel kernel = *find_kernel(id);
  kernel.contract.deterministic = false;
  return kernel;
}

Verdict asked(std::string_view law, const Kernel& kernel, const char* line, const Runner& runner = Trial::run_kernel) {
  const Case c = make_case(parse_case_spec(line));
  Trial trial(kernel, c, nullptr, {}, runner);
  return ask(*find_law(law), trial);
}

/// What the law says of a kernel that declares nothing, whose first lse is off by this where `when` says so.
template <class When>
std::string says(std::string_view law, const char* line, double off, When when) {
  const bool softmax = parse_case_spec(line).problem == ProblemKind::softmax;
  const Runner runner = [&](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Output output = run(kernel, problem, options);
    if (when(problem, options)) output.lse.set({0}, output.lse.at({0}) + off);
    return output;
  };
  return to_string(
      asked(law, undeclared(softmax ? "softmax.safe.hardened" : "attention.mma_f16.hardened"), line, runner));
}

bool strided(const Problem& problem, const RunOptions&) { return std::get<SoftmaxProblem>(problem).x.stride[1] != 1; }

bool other_than_given(const Problem& problem, const RunOptions&) {
  static const Problem given = make_case(parse_case_spec(kSharedCase)).problem;
  return !(problem == given);
}

// Two runs of such a kernel may differ by twice the bound, and by no more.
TEST(UndeclaredLaws, RunsOnTheSameNumbersMayDifferByTwiceTheBound) {
  const auto unused_zeros = [](const Problem& problem, const RunOptions&) {
    const Tensor& x = std::get<SoftmaxProblem>(problem).x;
    return x.stride[0] > x.shape[1] && x.bits(x.shape[1]) == 0;
  };
  const auto hidden_nan = [](const Problem& problem, const RunOptions&) {  // row 0 sees key 0 alone
    const auto& p = std::get<AttentionProblem>(problem);
    bool any = false;
    for (std::int64_t j = 1; j < 8; ++j) any = any || std::isnan(p.v.at({0, 0, j, 0}));
    return any;
  };
  const auto far = [](const Problem&, const RunOptions& options) { return options.far_axis == 1; };
  const auto expect_all = [](std::string_view law, const char* line, auto when) {
    EXPECT_EQ(says(law, line, 0, when), "pass") << law;
    EXPECT_EQ(says(law, line, 0x1p-22, when), "pass") << law << ": a last bit";
    EXPECT_EQ(says(law, line, 0.01, when), "fail(leak)") << law;
    EXPECT_EQ(says(law, line, kNan, when), "fail(leak)") << law;
  };
  expect_all("layout_invariance", kSoftmaxCase, strided);
  expect_all("unused_storage_is_isolated", kSoftmaxCase, unused_zeros);
  expect_all("hidden_nan_is_isolated", kSharedCase, hidden_nan);
  expect_all("offsets_beyond_int32", kSoftmaxCase, far);
}

// Each output within the bound of its own problem.
TEST(UndeclaredLaws, ProblemsWithOneAnswerMayDifferByBothBounds) {
  for (const auto& [law, failure] : {std::pair{"batch_invariance_is_bitwise", "fail(nondeterministic)"},
                                     {"gqa_equals_expanded", "fail(exceeds_bound)"},
                                     {"power_of_two_scaling_is_bitwise", "fail(exceeds_bound)"},
                                     {"mask_forms_agree", "fail(exceeds_bound)"},
                                     {"dim_permutation_within_a_k_group_is_bitwise", "fail(exceeds_bound)"}}) {
    EXPECT_EQ(says(law, kSharedCase, 0, other_than_given), "pass") << law;
    EXPECT_EQ(says(law, kSharedCase, 0x1p-22, other_than_given), "pass") << law << ": a last bit";
    EXPECT_EQ(says(law, kSharedCase, 0.5, other_than_given), failure) << law;
  }
}

TEST(UndeclaredLaws, ScaledValuesAreHeldToBothBounds) {
  const auto with = [](double factor) {
    return [factor, run_of = 0](const Kernel& kernel, const Problem& problem, const RunOptions& options) mutable {
      Output output = run(kernel, problem, options);
      if (++run_of == 2) output.o.set({1, 0}, output.o.at({1, 0}) * factor);  // of the scaled values
      return output;
    };
  };
  const Kernel kernel = undeclared("attention.deferred.hardened");
  EXPECT_EQ(to_string(asked("power_of_two_scaling_is_bitwise", kernel, kCausalCase, with(1 + 0x1p-23))), "pass");
  EXPECT_EQ(to_string(asked("power_of_two_scaling_is_bitwise", kernel, kCausalCase, with(1.1))), "fail(exceeds_bound)");
}

TEST(UndeclaredLaws, WhatOnlyOtherBitsCouldShowIsNotAsked) {
  const Kernel kernel = undeclared("attention.deferred.hardened");
  EXPECT_EQ(to_string(asked("schedule_invariance_is_bitwise", kernel, kCausalCase)), "unsupported");
}

/// What the outputs, or the workspace, held before is none of what it computes.
TEST(UndeclaredLaws, ASecondRunIsHeldToBothBounds) {
  const auto after_zeros = [](double more) {
    return [more](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
      Output output = run(kernel, problem, options);
      if (options.zeroed_outputs) output.lse.set({1}, output.lse.at({1}) + more);
      return output;
    };
  };
  const Kernel kernel = undeclared("attention.deferred.hardened");
  for (const auto& [more, verdict] : {std::pair{0.0, "pass"}, {0x1p-22, "pass"}, {0.5, "fail(nondeterministic)"}})
    EXPECT_EQ(to_string(asked("rerun_is_bitwise", kernel, kCausalCase, after_zeros(more))), verdict) << more;
}

TEST(UndeclaredLaws, ANanIsFollowedAndOtherRowsKeepTheirNumbers) {
  const auto spoils = [](auto change, bool (*which)(double)) {
    return [=](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
      Output output = run(kernel, problem, options);
      bool any = false;
      for (std::int64_t r = 0; r < output.lse.elements(); ++r) any = any || std::isnan(output.lse.at({r}));
      for (std::int64_t r = 0; any && r < output.lse.elements(); ++r) {
        if (which(output.lse.at({r}))) output.lse.set({r}, change(output.lse.at({r})));
      }
      return output;
    };
  };
  const auto to = [](double x) { return [x](double) { return x; }; };
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto verdict = [](const Runner& runner) {
    return to_string(asked("visible_nan_is_not_laundered", undeclared("softmax.safe.hardened"), kSoftmaxCase, runner));
  };
  EXPECT_EQ(verdict(spoils(to(0), [](double x) { return std::isnan(x); })), "fail(laundering)");
  EXPECT_EQ(verdict(spoils(to(kNan), finite)), "fail(leak)");
  EXPECT_EQ(verdict(spoils(to(1), finite)), "fail(leak)");
  EXPECT_EQ(verdict(spoils([](double x) { return x + 0x1p-23; }, finite)), "pass");
}

/// Every row beyond the range of a form that the kernel refuses: NaN would do there, and a number.
constexpr const char* kBeyond = "softmax:deep_negative:1:rows=6,cols=8,format=f32";

Kernel refusing() { return undeclared("softmax.lse_unshifted.hardened"); }

std::size_t refused_rows(const Problem& problem) {
  const Bound bound = compute_bound(problem, refusing().arithmetic);
  return static_cast<std::size_t>(
      std::ranges::count_if(bound.domain, [](const RowDomain& row) { return !row.holds() || !row.form.holds(); }));
}

TEST(UndeclaredLaws, ARowThatMayBeRefusedMayBeRefusedInOneRunAlone) {
  ASSERT_GT(refused_rows(make_case(parse_case_spec(kBeyond)).problem), 0);
  const Runner runner = [](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Output output = run(*find_kernel("softmax.safe.hardened"), problem, options);
    const Output refused = run(kernel, problem, options);
    bool any = false;
    for (std::int64_t r = 0; r < output.lse.elements(); ++r) any = any || std::isnan(output.lse.at({r}));
    return any ? refused : output;
  };
  const Verdict verdict = asked("visible_nan_is_not_laundered", refusing(), kBeyond, runner);
  EXPECT_EQ(to_string(verdict), "pass") << verdict.detail;
}

// Where two runs differ and no row is in the domain, nothing was asked.
TEST(UndeclaredLaws, WhatCannotBeComparedIsNoPass) {
  const Problem problem = make_case(parse_case_spec(kBeyond)).problem;
  ASSERT_EQ(refused_rows(problem), static_cast<std::size_t>(output_shape(problem).rows));
  const Runner runner = [&](const Kernel&, const Problem& p, const RunOptions& options) {
    Output output = run(*find_kernel("softmax.safe.hardened"), p, options);
    for (std::int64_t r = 0; !(p == problem) && r < output.lse.elements(); ++r) output.lse.set({r}, 1);
    return output;
  };
  EXPECT_EQ(to_string(asked("layout_invariance", refusing(), kBeyond, runner)), "vacuous");
}

// A special in one key of a head says nothing of the rows that do not see it, and in those that do NaN is right in both runs.
TEST(UndeclaredLaws, RowsBesideSpecialsAreCompared) {
  for (const char* line : {"attention:hidden_specials:1:b=1,hq=1,hk=1,sq=8,sk=8,d=16,dv=16,causal=1,format=f32",
                           "attention:special_values:1:b=1,hq=1,hk=1,sq=8,sk=8,d=16,dv=16,format=f32"}) {
    const auto verdict = [&](double off) {
      const Case given = make_case(parse_case_spec(line));
      const Runner runner = [&](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
        Output output = run(kernel, problem, options);
        const bool other =
            std::get<AttentionProblem>(problem).q.stride != std::get<AttentionProblem>(given.problem).q.stride;
        for (std::int64_t r = 0; other && r < output.lse.elements(); ++r) output.lse.set({r}, output.lse.at({r}) + off);
        return output;
      };
      return to_string(asked("layout_invariance", undeclared("attention.deferred.hardened"), line, runner));
    };
    EXPECT_EQ(verdict(0), "pass") << line;
    EXPECT_EQ(verdict(0.5), "fail(leak)") << line;
  }
}

TEST(UndeclaredLaws, AKernelOfOneLayoutIsNotAskedAboutOthers) {
  Kernel kernel = *find_kernel("softmax.safe.hardened");
  kernel.unsupported = Refusal::Own([](const Problem& problem) -> std::string {
    const Tensor& x = std::get<SoftmaxProblem>(problem).x;
    return x.stride == Tensor::dense(x.format, x.shape).stride ? "" : "strides: dense alone";
  });
  EXPECT_EQ(to_string(asked("layout_invariance", kernel, kSoftmaxCase)), "unsupported");
  EXPECT_EQ(to_string(asked("layout_invariance", *find_kernel("softmax.safe.hardened"), kSoftmaxCase)), "pass");
}

/// Right, and different from run to run: what the declaration leaves open, in turn.
Output run_one_of(const Kernel& kernel, const Problem& problem, std::size_t turn) {
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) {
    const auto& list = kernel.backward_one_of;
    return store_gradients(*gradient, run_backward_model(*gradient, list[turn % list.size()]));
  }
  std::vector<Arithmetic> list = alternatives(kernel.arithmetic, problem);
  // It overflows where the new lse is far above: published as such, and wrong there.
  std::erase_if(list, [](const Arithmetic& one) { return one.merge_weights == MergeWeights::running; });
  return run_model(problem, list[turn % list.size()]);
}

Kernel open_kernel(std::string_view id) {
  Kernel kernel = undeclared(id);
  kernel.arithmetic.reduction = Reduction::any;
  if (kernel.problem == ProblemKind::backward) {
    kernel.backward_one_of.assign(3, {.exp_error = 0x1p-23});
    kernel.backward_one_of[1].exponent = Exponent::scaled_exp2;
    kernel.backward_one_of[2].dq.block = kernel.backward_one_of[2].dk.block = kernel.backward_one_of[2].dv.block = 4;
  }
  return kernel;
}

TEST(UndeclaredLaws, ARightKernelThatDiffersFromRunToRunNeverFails) {
  std::map<std::string_view, int> passed;
  for (const char* id : {"softmax.safe.hardened", "merge.nway.hardened", "attention.deferred.hardened",
                         "attention_backward.fused.hardened"}) {
    const Kernel kernel = open_kernel(id);
    std::set<std::string> seen;
    for (TeethCase& c : teeth_cases(kernel.problem)) {
      if (!seen.insert(c.content.spec.family).second || !takes(kernel, c.content.problem)) continue;
      for (const Law& law : laws()) {
        if (law.judge != nullptr || law.name == "signed_bias_within_limit") continue;
        std::size_t turn = 0;
        Trial trial(kernel, c.content, &c.truth, {}, [&](const Kernel& k, const Problem& problem, const RunOptions&) {
          return run_one_of(k, problem, turn++);
        });
        const Verdict verdict = ask(law, trial);
        EXPECT_FALSE(verdict.failed()) << law.name << ", " << id << " " << to_string(c.content.spec) << ": "
                                       << to_string(verdict) << " " << verdict.detail;
        passed[law.name] += verdict.kind == VerdictKind::pass ? 1 : 0;
      }
    }
  }
  for (const char* law : {"layout_invariance", "unused_storage_is_isolated", "hidden_nan_is_isolated",
                          "visible_nan_is_not_laundered", "batch_invariance_is_bitwise", "gqa_equals_expanded",
                          "power_of_two_scaling_is_bitwise", "mask_forms_agree", "offsets_beyond_int32"})
    EXPECT_GT(passed[law], 10) << law;
}

}  // namespace
}  // namespace flashproof
