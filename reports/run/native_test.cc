// Native math in a plan: what it runs, what it declares, what is refused. The kernels stand in for a CUDA build.
#include "reports/run/native.h"

#include <gtest/gtest.h>

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "reference/bound/backward/bound.h"
#include "reference/problem/error.h"
#include "reports/record/record.h"

namespace flashproof {
namespace {

Profile profile() {
  const auto region = [](std::string_view name, double error) {
    const bool relative = name != kSubnormalResults && name != kAroundOne;
    return RegionFigure{
        .name = std::string(name), .low = -1, .high = 1, .relative = relative, .inputs = 1, .error = error};
  };
  Profile p;
  p.gpu = {"Some GPU", "9.0"};
  p.functions = {{.name = std::string(kNativeExp2),
                  .regions = {region(kNormalResults, 0x1p-22), region(kSubnormalResults, 0x1p-126)},
                  .exact_at_zero = true},
                 {.name = std::string(kNativeLog),
                  .regions = {region(kAwayFromOne, 0x1p-22), region(kBelowOne, 0x1p-22), region(kAroundOne, 0x1p-21)}},
                 {.name = std::string(kNativeReciprocal), .regions = {region(kNormalResults, 0x1p-23)}}};
  return p;
}

struct Fixture {
  Kernel with = *find_kernel("softmax.online_two_pass.hardened");
  Kernel without = *find_kernel("softmax.broken.tail_dropped");
  Plan plan =
      make_plan({{"softmax.online_two_pass.hardened"}, {"normal"}, {"f32"}}, SweepTier::quick, 0, {Executor::cuda});

  Fixture() {
    with.has_cuda = with.has_native = without.has_cuda = true;
    with.cuda_launch = with.launch;
    with.native_launch = with.launch;
    without.has_native = false;
    plan.kernels = {&without, &with};
  }
};

TEST(NativeMath, joins_or_replaces_the_kernels_of_a_plan) {
  Fixture f;
  add_native(f.plan, profile(), true);
  ASSERT_EQ(f.plan.kernels.size(), 3U);
  const Kernel& native = *f.plan.kernels[2];
  EXPECT_EQ(native.id, f.with.id);
  EXPECT_EQ(native.math, Math::native);
  EXPECT_EQ(native.arithmetic.exp_error, 0x1p-22);
  EXPECT_EQ(native.arithmetic.underflow, Underflow::flush);
  EXPECT_EQ(place(native, Executor::cuda), "native");
  EXPECT_EQ(f.plan.steps(0).size(), 3U);
  f.plan.executors = {Executor::cpu, Executor::cuda};
  EXPECT_EQ(f.plan.steps(0).size(), 5U) << "native math is not run on the CPU";

  Fixture alone;
  add_native(alone.plan, profile(), false);
  ASSERT_EQ(alone.plan.kernels.size(), 1U);
  EXPECT_EQ(alone.plan.kernels[0]->math, Math::native);
}

TEST(NativeMath, records_of_both_maths_stay_apart) {
  Fixture f;
  add_native(f.plan, profile(), true);
  Record det, native;
  det.kernel = f.plan.kernels[1], native.kernel = f.plan.kernels[2];
  EXPECT_FALSE(same_key(det, native));
  EXPECT_TRUE(key_less(det, native));
}

TEST(NativeMath, refuses_what_has_no_native_form) {
  Fixture f;
  f.plan.kernels = {&f.without};
  EXPECT_THROW(add_native(f.plan, profile(), true), UsageError);
}

TEST(NativeMath, options_must_fit_each_other) {
  EXPECT_NO_THROW(check_math("det", "", "cpu"));
  EXPECT_NO_THROW(check_math("native", "", "cuda"));
  EXPECT_NO_THROW(check_math("all", "a file", "cuda"));
  EXPECT_THROW(check_math("native", "", "cpu"), UsageError);
  EXPECT_THROW(check_math("all", "", "all"), UsageError);
  EXPECT_THROW(check_math("det", "a file", "cuda"), UsageError);
  EXPECT_THROW(check_math("fast", "", "cuda"), UsageError);
}

TEST(NativeMath, of_a_gradient_declares_the_approximations) {
  const Profile profile = load_profile(shipped_profiles() / "nvidia-h200-2026-11-20.json");
  const auto subject =
      std::get<BackwardProblem>(make_case(parse_case_spec("attention_backward:normal:3:format=f16")).problem);
  for (const Kernel& det : kernels_of(ProblemKind::backward)) {
    const Kernel native = native_kernel(det, profile);
    EXPECT_EQ(native.math, Math::native);
    EXPECT_EQ(native.backward.underflow, Underflow::flush);
    EXPECT_GT(native.backward.exp_error, det.backward.exp_error);
    const bool accurate = det.backward.exponent == Exponent::accurate;
    EXPECT_EQ(native.backward.exponent, accurate ? Exponent::scaled_exp2 : det.backward.exponent);
    if (!det.unsupported(subject).empty()) continue;
    const ForwardErrors errors = forward_errors(subject);
    const auto total = [&](const Kernel& kernel) {
      return backward_bound(subject, kernel.backward_for(Format::f16), errors).dq.at(0).total();
    };
    EXPECT_GE(total(native), total(det)) << det.id;
  }
}

}  // namespace
}  // namespace flashproof
