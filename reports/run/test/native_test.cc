// Native math in a plan: what it runs, what it declares, what is refused. The kernels stand in for a CUDA build.
#include "reports/run/native.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/run/native_kernel.h"
#include "kernels/run/run.h"
#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "reference/bound/backward/bound.h"
#include "reference/system/error.h"
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

struct NativeRun {
  Kernel with = *find_kernel("softmax.online_two_pass.hardened");
  Kernel without = *find_kernel("softmax.broken.tail_dropped");
  Plan plan =
      make_plan({{"softmax.online_two_pass.hardened"}, {"normal"}, {"f32"}}, SweepTier::quick, 0, {Executor::cuda});

  NativeRun() {
    with.has_cuda = with.has_native = without.has_cuda = true;
    with.cuda_launch = with.launch;
    with.native_launch = with.launch;
    without.has_native = false;
    plan.kernels = {&without, &with};
  }
};

TEST(NativeMath, joins_or_replaces_the_kernels_of_a_plan) {
  NativeRun f;
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
  EXPECT_EQ(f.plan.steps(0).size(), 6U);
  EXPECT_EQ(place(native, Executor::cpu), "cpu.native");

  NativeRun alone;
  add_native(alone.plan, profile(), false);
  ASSERT_EQ(alone.plan.kernels.size(), 1U);
  EXPECT_EQ(alone.plan.kernels[0]->math, Math::native);
}

TEST(NativeMath, records_of_both_maths_stay_apart) {
  NativeRun f;
  add_native(f.plan, profile(), true);
  Record det, native;
  det.kernel = f.plan.kernels[1], native.kernel = f.plan.kernels[2];
  EXPECT_FALSE(same_key(det, native));
  EXPECT_TRUE(key_less(det, native));
}

TEST(NativeMath, refuses_what_has_no_native_form) {
  NativeRun f;
  f.plan.kernels = {&f.without};
  EXPECT_THROW(add_native(f.plan, profile(), true), UsageError);
}

TEST(NativeMath, every_kernel_has_it_on_the_cpu) {
  NativeRun f;
  f.plan.executors = {Executor::cpu};
  f.plan.kernels = {&f.without};
  add_native(f.plan, profile(), false);
  ASSERT_EQ(f.plan.kernels.size(), 1U);
  EXPECT_EQ(f.plan.kernels[0]->math, Math::native);
}

TEST(NativeMath, bits_are_compared_where_there_is_a_model) {
  NativeRun f;
  EXPECT_THROW(add_native_bits(f.plan, {"Some GPU", "8.0"}, false), UsageError);
  EXPECT_EQ(f.plan.kernels.size(), 2U) << "nothing was changed";
  add_native_bits(f.plan, {"Some GPU", "9.0"}, false);
  ASSERT_EQ(f.plan.kernels.size(), 1U);
  EXPECT_EQ(f.plan.kernels[0]->math, Math::native);
}

TEST(NativeMath, a_plan_for_the_cpu_takes_a_shipped_profile_of_the_modelled_capability) {
  NativeRun f;
  f.plan.executors = {Executor::cpu};
  EXPECT_THAT(choose_math(f.plan, "native", ""), testing::HasSubstr("NVIDIA"));
  EXPECT_EQ(modelled_profile().gpu.compute_capability, "9.0");
  EXPECT_THROW(find_profile_of_capability(shipped_profiles(), "1.0"), UsageError);
}

TEST(NativeMath, a_profile_of_a_capability_without_a_model_is_refused_on_the_cpu) {
  NativeRun f;
  f.plan.executors = {Executor::cpu};
  Profile other = modelled_profile();
  other.gpu = {"Some GPU", "8.0"};
  const std::string file = testing::TempDir() + "native_test_profile.json";
  std::ofstream(file) << profile_json(other);
  EXPECT_THROW(choose_math(f.plan, "native", file), UsageError);
  EXPECT_EQ(f.plan.kernels.size(), 2U) << "nothing was changed";
}

/// 2^x and ln x of one kernel: the GPU's bits differ from the deterministic ones, and what native math makes is within its
/// own bound.
TEST(NativeMath, on_the_cpu_has_other_bits_than_det) {
  const Kernel& det = *find_kernel("softmax.online_two_pass.hardened");
  const Kernel native = native_kernel(det, modelled_profile());
  const Problem problem = make_case(parse_case_spec("softmax:normal:3")).problem;
  const Output a = run(det, problem), b = run(native, problem);
  EXPECT_NE(a[Part::o].storage, b[Part::o].storage);
  EXPECT_EQ(run(det, problem)[Part::o].storage, a[Part::o].storage) << "the run before left nothing behind";
}

TEST(NativeMath, options_must_fit_each_other) {
  EXPECT_NO_THROW(check_math("det", ""));
  EXPECT_NO_THROW(check_math("native", ""));
  EXPECT_NO_THROW(check_math("all", "a file"));
  EXPECT_THROW(check_math("det", "a file"), UsageError);
  EXPECT_THROW(check_math("fast", ""), UsageError);
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
