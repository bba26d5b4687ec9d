// No kernel runs on a problem with a feature that it does not know: by default, for every executor, by name.
#include "kernels/refusal.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <span>

#include "kernels/run/make_args.h"
#include "kernels/run/run.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

AttentionProblem plain() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 2, 2});
  p.k = p.v = Tensor::dense(Format::f32, {1, 1, 4, 2});
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_bits(i, encode(Format::f32, 1.0));
  }
  p.plan = ChunkPlan::uniform(4, 2);
  return p;
}

template <class P>
struct Line {
  Feature feature;
  const char* refusal;  // after the name
  std::function<void(P&)> add;

  /// `plain` with the feature, which this kernel does not take; the complaint.
  std::string refused(const Kernel& kernel, P plain, std::span<const Executor> executors) const {
    add(plain);
    EXPECT_NO_THROW(validate(plain)) << name(feature);
    const std::string why = std::string(name(feature)) + ": this kernel does not take it, " + refusal;
    EXPECT_EQ(kernel.unsupported(plain), why) << kernel.id;
    for (const Executor executor : executors) {
      EXPECT_EQ(message_of([&] { run(kernel, plain, {.executor = executor}); }),
                "kernel " + std::string(kernel.id) + ": " + why);
    }
    return why;
  }
};

Tensor ones(std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::dense(Format::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_bits(i, encode(Format::f32, 1.0));
  return tensor;
}

const std::vector<Line<AttentionProblem>>& lines() {
  using P = AttentionProblem;
  static const std::vector<Line<P>> all = {
      {Feature::window, "legal: window_left = window_right = -1", [](P& p) { p.window_left = 0; }},
      {Feature::window, "legal: window_left = window_right = -1", [](P& p) { p.window_right = 7; }},
      {Feature::softcap, "legal: softcap = 0", [](P& p) { p.softcap = 30.0F; }},
      {Feature::alibi, "legal: no alibi", [](P& p) { p.alibi = ones({1, 1}); }},
      {Feature::sink, "legal: no sink", [](P& p) { p.sink = ones({1}); }},
      {Feature::packed, "legal: an empty q_start",
       [](P& p) {
         p.q_start = {0, 1, 2};
         p.k_start = {0, 0, 4};
       }},
      {Feature::paged, "legal: an empty page_table", [](P& p) { p.page_table = {0}; }},
      {Feature::descale, "legal: no q_descale, k_descale and v_descale", [](P& p) { p.v_descale = ones({1, 1}); }},
      {Feature::mixed, "legal: q, k, v and o of one format",
       [](P& p) { p.k = p.v = Tensor::dense(Format::e4m3fn, {1, 1, 4, 2}); }},
  };
  return all;
}

std::string takes_all(const Problem&) { return ""; }
std::string takes_none(const Problem&) { return "d: only 0"; }
void must_not_run(const AttentionArgs&, Stream) { FAIL() << "launched"; }

TEST(Refusal, EveryAttentionKernelRefusesTheFeaturesThatItDoesNotTake) {
  int refused = 0;
  for (const Kernel& registered : kernels()) {
    if (registered.problem != ProblemKind::attention || registered.fault != nullptr) continue;
    const bool pages_alone = registered.id.starts_with("attention.paged.");
    EXPECT_EQ(registered.unsupported(plain()).empty(), !pages_alone) << registered.id;
    Kernel kernel = registered;
    kernel.launch = kernel.cuda_launch = must_not_run;
    kernel.formats = kStorageFormats;  // that of the problems here: the feature alone is refused
    for (const auto& line : lines()) {
      if (registered.unsupported.takes(line.feature)) continue;
      line.refused(kernel, plain(), std::array{Executor::cpu, Executor::cuda});
      ++refused;
    }
  }
  EXPECT_GE(refused, 3 * 7);
}

TEST(Refusal, ADeclarationThatSaysNothingTakesThePlainFormAlone) {
  for (const Refusal& refusal : {Refusal(), Refusal(takes_all)}) {
    EXPECT_EQ(refusal(plain()), "");
    for (const auto& line : lines()) {
      AttentionProblem p = plain();
      line.add(p);
      EXPECT_TRUE(refusal(p).starts_with(name(line.feature))) << refusal(p);
    }
  }
}

TEST(Refusal, WhatADeclarationTakesGoesOnToItsOwnFunction) {
  AttentionProblem p = plain();
  p.softcap = 1.0F;
  EXPECT_EQ(Refusal(takes_all, {Feature::softcap})(p), "");
  EXPECT_EQ(Refusal(takes_none, {Feature::softcap})(p), "d: only 0");
  p.sink = ones({1});
  EXPECT_EQ(Refusal(takes_none, {Feature::softcap})(p), "sink: this kernel does not take it, legal: no sink");
  EXPECT_EQ(Refusal(takes_all, {Feature::sink, Feature::softcap})(p), "");
  EXPECT_EQ(Refusal(takes_none)(SoftmaxProblem()), "d: only 0");
}

MergeProblem plain_merge() {
  MergeProblem p;
  p.o = ones({2, 1, 2});
  p.lse = ones({2, 1});
  p.order = {0, 1};
  p.form = MergeForm::concat;
  return p;
}

const std::vector<Line<MergeProblem>>& merge_lines() {
  static const std::vector<Line<MergeProblem>> all = {
      {Feature::unnormalised, "legal: no l", [](MergeProblem& p) { p.l = ones({2, 1}); }},
      {Feature::joins, "legal: an empty joins", [](MergeProblem& p) { p.joins = {{0, 1}}; }},
  };
  return all;
}

void must_not_merge(const MergeArgs&, Stream) { FAIL() << "launched"; }

TEST(Refusal, EveryMergeKernelRefusesTheFeaturesThatItDoesNotTake) {
  int refused = 0;
  for (const Kernel& registered : kernels()) {
    if (registered.problem != ProblemKind::merge) continue;
    Kernel kernel = registered;
    kernel.launch = kernel.cuda_launch = must_not_merge;
    MergeProblem taken = plain_merge();
    if (!kernel.unsupported(taken).empty()) taken.form = MergeForm::sum;  // a published formula has one form
    EXPECT_EQ(kernel.unsupported(taken), "") << kernel.id;
    for (const auto& line : merge_lines()) {
      if (registered.unsupported.takes(line.feature)) continue;
      MergeProblem p = plain_merge();
      line.add(p);
      const std::string why = line.refused(kernel, plain_merge(), std::array{Executor::cpu});
      EXPECT_EQ(Refusal()(p), why) << "a declaration that says nothing";
      EXPECT_EQ(Refusal(takes_none, {line.feature})(p), "d: only 0") << "goes on to its own function";
      ++refused;
    }
  }
  EXPECT_GE(refused, 2 * 2);
}

// What the arguments say of a feature; without it they say nothing.
TEST(LaunchArguments, CarryEveryFeature) {
  const auto carried = [](const AttentionProblem& p) {
    Output out{Tensor::dense(Format::f32, {p.q_length() * p.q_heads() * p.batch(), p.value_dim()}), {}};
    const AttentionArgs a =
        make_args(p, out, [](const void* data, std::size_t) { return data; }, [](Tensor&) -> void* { return nullptr; });
    std::set<Feature> features;
    using enum Feature;
    if (a.window_left >= 0 || a.window_right >= 0) features.insert(window);
    if (a.softcap != 0.0F) features.insert(softcap);
    if (a.alibi != nullptr) features.insert(alibi);
    if (a.sink != nullptr) features.insert(sink);
    if (a.q_start != nullptr) features.insert(packed);
    if (a.page_table != nullptr && a.page_size > 0 && a.pages_per_sequence > 0) features.insert(paged);
    if (a.q_descale != nullptr || a.k_descale != nullptr || a.v_descale != nullptr) features.insert(descale);
    if (a.kv_format != a.format || a.out_format != a.format) features.insert(mixed);
    return features;
  };
  EXPECT_TRUE(carried(plain()).empty());
  for (const auto& line : lines()) {
    AttentionProblem p = plain();
    line.add(p);
    EXPECT_EQ(carried(p), std::set<Feature>{line.feature}) << name(line.feature);
  }
}

}  // namespace
}  // namespace flashproof
