// Gradients under run(): what it refuses, poisons and guards, and what its kernels do on cases whose answer is known in
// closed form. Accuracy over the families: reports/run/test/backward_kernels_test.cc.
#include "kernels/registry.h"
#include "kernels/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "reference/problem/special_values.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

const Kernel& kernel(const std::string& id) {
  const Kernel* found = find_kernel("attention_backward." + id);
  if (found == nullptr) throw std::runtime_error("no kernel " + id);
  return *found;
}

constexpr const char* kHardened[] = {"atomic_dq.hardened", "fused.hardened", "two_kernels.hardened"};

/// q = 0, so that P = e^(−lse) whatever k is; lse = ln keys.
BackwardProblem flat(std::int64_t heads, std::int64_t queries, std::int64_t keys, Format format = Format::f32) {
  BackwardProblem p;
  AttentionProblem& f = p.forward;
  f.q = Tensor::dense(format, {1, heads, queries, 2});
  f.k = Tensor::dense(format, {1, 1, keys, 2});
  f.v = Tensor::dense(format, {1, 1, keys, 3});
  f.plan = ChunkPlan::uniform(keys, 16);
  p.d_out = Tensor::dense(format, {1, heads, queries, 3});
  p.o = Tensor::dense(format, {1, heads, queries, 3});
  p.lse = Tensor::dense(Format::f32, {1, heads, queries});
  const auto fill = [](Tensor& t, const std::function<double(std::int64_t)>& value) {
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set_bits(i, encode(t.format, value(i)));
  };
  fill(f.q, [](auto) { return 0.0; });
  fill(f.k, [](auto i) { return static_cast<double>(i % 5) - 2; });
  fill(f.v, [](auto i) { return static_cast<double>(i % 7) - 3; });
  fill(p.d_out, [](auto i) { return static_cast<double>(i % 3) - 1; });
  fill(p.o, [](auto) { return 0.0; });
  fill(p.lse, [&](auto) { return std::log(static_cast<double>(keys)); });
  return p;
}

TEST(Backward, the_kernels_of_one_problem_stand_together) {
  for (const ProblemKind problem : kProblemKinds) {
    const auto all = kernels_of(problem);
    EXPECT_EQ(std::ranges::count(kernels(), problem, &Kernel::problem), std::ssize(all));
    for (const Kernel& k : all) EXPECT_EQ(k.problem, problem) << k.id;
  }
  for (const char* id : kHardened) EXPECT_TRUE(kernel(id).contract.isolates_hidden);
  EXPECT_FALSE(kernel("atomic_dq.hardened").contract.deterministic);
}

TEST(Backward, dv_is_the_mean_of_dO_where_all_weights_are_equal) {
  // dv_j = Σ_i dO_i / keys over 7 heads that read one kv head. The tolerance: a chain of 21 fma rounds 21 times. P is off
  // by the error ε of the exponential and by that of its argument, ln 16 after at most three roundings (of lse; fused: of
  // log2 e and of their product, too), 3 u ln 16 = 8.32 u and terms of u², less than 9 u in all. Together
  // (1 + u)^21 e^{9u} (1 + ε) − 1 <= n u/(1 − n u) with n = 21 + 9 + ε/u, relative to Σ |dO_i| / keys.
  constexpr double kU = 0x1p-24;
  for (const char* id : kHardened) {
    const BackwardProblem p = flat(7, 3, 16);
    const Output g = run(kernel(id), p);
    const double n = 21 + 9 + kernel(id).backward.exp_error / kU;
    for (std::int64_t c = 0; c < 3; ++c) {
      double sum = 0, magnitude = 0;
      for (std::int64_t h = 0; h < 7; ++h) {
        for (std::int64_t i = 0; i < 3; ++i) {
          sum += p.d_out.at({0, h, i, c});
          magnitude += std::fabs(p.d_out.at({0, h, i, c}));
        }
      }
      EXPECT_NEAR(g.dv.at({0, 0, 15, c}), sum / 16, n * kU / (1 - n * kU) * magnitude / 16) << id;
    }
  }
}

TEST(Backward, refusals_name_the_argument) {
  const auto refused = [](const char* id, void (*change)(AttentionProblem&)) {
    BackwardProblem p = flat(1, 1, 1);
    change(p.forward);
    return message_of<std::exception>([&] { run(kernel(id), p); });
  };
  using P = AttentionProblem;
  EXPECT_THAT(refused("two_kernels.hardened", [](P& p) { p.q = p.k = Tensor::dense(Format::f32, {1, 1, 1, 257}); }),
              testing::HasSubstr("d = 257: legal range 1..256"));
  EXPECT_THAT(refused("two_kernels.hardened", [](P& p) { p.softcap = 5; }), testing::HasSubstr("softcap"));
  EXPECT_THAT(refused("fused.hardened", [](P& p) { p.bias = Tensor::dense(Format::f32, {1, 1, 1, 1}); }),
              testing::HasSubstr("bias: "));
  EXPECT_THAT(refused("fused.hardened", [](P& p) { p.scale = -1; }), testing::HasSubstr("scale: "));
}

TEST(Backward, workspace_that_is_too_small_is_refused) {
  Kernel small = kernel("atomic_dq.hardened");
  small.workspace = [](const Problem&) -> std::int64_t { return 4; };
  EXPECT_NE(
      message_of<std::exception>([&] { run(small, flat(1, 2, 2)); }).find("workspace: 4 bytes, this problem needs 24"),
      std::string::npos);
}

TEST(Backward, a_write_beside_a_gradient_is_found_and_named) {
  Kernel bad = kernel("two_kernels.hardened");
  bad.launch = Launch(+[](const BackwardArgs& a, Stream) { static_cast<float*>(a.dk)[-1] = 1; });
  EXPECT_EQ(message_of<std::exception>([&] { run(bad, flat(1, 2, 2)); }),
            "the kernel wrote before the first element of dk");
  bad.launch = Launch(
      +[](const BackwardArgs& a, Stream) { static_cast<float*>(a.dv)[a.forward.k_length * a.forward.value_dim] = 1; });
  EXPECT_EQ(message_of<std::exception>([&] { run(bad, flat(1, 2, 2)); }),
            "the kernel wrote beyond the last element of dv");
}

TEST(Backward, what_is_never_written_keeps_its_poison) {
  BackwardProblem p = flat(1, 2, 9);
  p.forward.causal = true;  // the last key is seen by the last query alone
  p.forward.window_left = 0;
  const Output g = run(kernel("broken.unseen_not_written"), p);
  EXPECT_EQ(g.dk.bits(0), poison_bits(Format::f32));
  for (const char* id : kHardened) EXPECT_EQ(run(kernel(id), p).dk.at({0, 0, 0, 0}), 0) << id;
}

TEST(Backward, a_row_without_a_key_contributes_nothing_whatever_it_holds) {
  for (const Format format : kStorageFormats) {
    BackwardProblem p = flat(1, 3, 2, format);
    p.forward.causal = true;  // query 0 stands before the first key
    p.lse.set({0, 0, 0}, -kInfinity);
    const Output clean = [&] {
      BackwardProblem zero = p;
      for (std::int64_t c = 0; c < 3; ++c) zero.d_out.set({0, 0, 0, c}, 0);
      return run(kernel("two_kernels.hardened"), zero);
    }();
    for (std::int64_t c = 0; c < 3; ++c) {
      p.d_out.set({0, 0, 0, c}, NAN);
      p.o.set({0, 0, 0, c}, kInfinity);
    }
    for (const char* id : kHardened) {
      const Output g = run(kernel(id), p);
      for (std::int64_t c = 0; c < 2; ++c) EXPECT_EQ(g.dq.at({0, 0, 0, c}), 0) << id;
      for (std::int64_t i = 0; i < g.dk.elements(); ++i) EXPECT_FALSE(std::isnan(decode(format, g.dk.bits(i)))) << id;
    }
    EXPECT_EQ(run(kernel("two_kernels.hardened"), p).dv.storage, clean.dv.storage);
  }
}

TEST(Backward, hidden_keys_and_the_room_behind_them_change_no_bit) {
  for (const char* id : kHardened) {
    BackwardProblem p = flat(7, 5, 21, Format::bf16);
    p.forward.key_length = {18};
    p.forward.causal = true;
    const Output before = run(kernel(id), p);
    for (std::int64_t j = 18; j < 21; ++j) {
      for (std::int64_t c = 0; c < 2; ++c) p.forward.k.set({0, 0, j, c}, NAN);
      for (std::int64_t c = 0; c < 3; ++c) p.forward.v.set({0, 0, j, c}, kInfinity);
    }
    const Output after = run(kernel(id), p);
    EXPECT_EQ(before.dq.storage, after.dq.storage) << id;
    EXPECT_EQ(before.dk.storage, after.dk.storage) << id;
    EXPECT_EQ(before.dv.storage, after.dv.storage) << id;
    EXPECT_EQ(after.dv.at({0, 0, 20, 0}), 0) << id;
  }
}

TEST(Backward, slopes_may_have_any_stride) {
  BackwardProblem p = flat(2, 3, 5);
  p.forward.alibi = Tensor::strided(Format::f32, {1, 2}, {7, 0});  // one slope for both heads
  p.forward.alibi.set({0, 0}, 0.5);
  BackwardProblem dense = p;
  dense.forward.alibi = Tensor::dense(Format::f32, {1, 2});
  for (const std::int64_t h : {0, 1}) dense.forward.alibi.set({0, h}, 0.5);
  const Kernel& two = kernel("two_kernels.hardened");
  EXPECT_EQ(run(two, p).dq.storage, run(two, dense).dq.storage);
  EXPECT_FALSE(std::isnan(run(two, p).dv.at({0, 0, 0, 0})));
}

TEST(Backward, deterministic_kernels_do_not_depend_on_the_schedule) {
  const BackwardProblem p = flat(7, 33, 40);
  for (const char* id : {"two_kernels.hardened", "fused.hardened"}) {
    ASSERT_TRUE(kernel(id).contract.deterministic);
    const Output fifo = run(kernel(id), p);
    for (const char* schedule : {"lifo", "random:1", "random:2"}) {
      const Output other = run(kernel(id), p, {.schedule = simt::parse_schedule(schedule)});
      EXPECT_EQ(fifo.dq.storage, other.dq.storage) << id << " " << schedule;
      EXPECT_EQ(fifo.dk.storage, other.dk.storage) << id << " " << schedule;
      EXPECT_EQ(fifo.dv.storage, other.dv.storage) << id << " " << schedule;
    }
  }
}

TEST(Backward, empty_axes_launch_and_zero_what_there_is) {
  for (const char* id : kHardened) {
    EXPECT_EQ(run(kernel(id), flat(2, 3, 0)).dq.at({0, 1, 2, 1}), 0) << id;
    EXPECT_EQ(run(kernel(id), flat(2, 0, 3)).dk.at({0, 0, 2, 1}), 0) << id;
  }
}

}  // namespace
}  // namespace flashproof
