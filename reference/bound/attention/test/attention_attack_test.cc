// Attention with every mixture of its features under declarations drawn at random: no element beyond its bound, whichever
// way the functions err. And the preconditions, on both sides of each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "reference/bound/declare/presets.h"
#include "reference/bound/test/one_row.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

#ifndef FLASHPROOF_ATTENTION_ROUNDS
#define FLASHPROOF_ATTENTION_ROUNDS 150
#endif

namespace flashproof::bound {
namespace {

TEST(AttentionAttack, no_feature_under_any_declaration_leaves_its_bound) {
  attack::Violations all;
  for (std::uint64_t round = 0; round < FLASHPROOF_ATTENTION_ROUNDS; ++round) {
    Random random(23, round);
    const auto some = [&] { return random.chance(0.4); };
    const test::Mix mix{.causal = some(),
                        .lengths = some(),
                        .bias = some(),
                        .window = some(),
                        .softcap = some(),
                        .alibi = some(),
                        .sink = some(),
                        .packed = some(),
                        .paged = some()};
    constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
    AttentionProblem p = test::random_attention(random, kFormats[round % 3], mix, some());
    if (some()) test::add_descale(random, p);
    if (some()) test::narrow(p, round % 2 == 0 ? Format::e4m3fn : Format::e5m2);
    const Arithmetic a = attack::declaration(random, p);
    const attack::Violations tally = attack::attack(p, a, a, round, 4);
    ASSERT_EQ(tally.refused, 0) << "round " << round << ": " << tally.refusal;
    // A finite number out of its domain may be anywhere: that is the judge's to call silently wrong.
    if (tally.first.find("out of domain") == std::string::npos) {
      ASSERT_EQ(tally.violations, 0) << "round " << round << ": " << tally.first;
    }
    all.take(tally);
  }
  EXPECT_GT(all.elements, 100 * FLASHPROOF_ATTENTION_ROUNDS);
  EXPECT_GT(all.worst.ratio, 0.5) << "the attack has gone soft: " << all.worst.text();
}

const Precondition* find(const std::vector<Precondition>& list, const char* name) {
  for (const Precondition& precondition : list) {
    if (std::strstr(precondition.name, name) != nullptr) return &precondition;
  }
  return nullptr;
}

TEST(AttentionDomain, every_precondition_of_a_row_is_listed_and_the_nearest_is_the_rows) {
  Arithmetic a = presets::kFa4Sm100Bf16;
  a.weights = {.format = Format::e4m3fn, .scale = 256};
  const AttentionProblem p = one_row({1.0F, 2.0F, 3.0F}, {1.0F, 2.0F, -5.0F}, 1);
  const std::vector<Precondition> list = preconditions(p, a, 0);
  for (const char* name : {"scores", "folded scale", "head-room above", "head-room below", "largest number of P's",
                           "un-normalised sums"}) {
    EXPECT_NE(find(list, name), nullptr) << name;
  }
  RowDomain domain;
  for (const Precondition& precondition : list) domain.require(precondition);
  EXPECT_EQ(compute_bound(p, a).domain[0].nearest.value, domain.nearest.value);
  // FlashAttention-4's fp8: 256 · 2^8 is beyond 448 (issue 2577 there: saturated weights at every chunk).
  EXPECT_FALSE(domain.holds());
  EXPECT_FALSE(find(list, "largest number of P's")->holds());
  a.weights.scale = 1;
  a.lazy_log2 = 0;
  EXPECT_TRUE(find(preconditions(p, a, 0), "largest number of P's")->holds());
  EXPECT_THROW(preconditions(p, a, 1), std::exception);
}

// u·|m·ĉ| octaves: above 128 exp2 overflows, far below f16 P vanishes, where every weight is 2^-u|mĉ| (numerics: at 2^31).
TEST(AttentionDomain, fused_head_room_ends_on_both_sides) {
  Arithmetic a = declared(Reduction::chunk_deferred);
  a.exponent = Exponent::fused;
  const auto at = [&](double size) {
    return preconditions(one_row({static_cast<float>(size), static_cast<float>(size)}, {1, 2}, 1), a, 0);
  };
  EXPECT_TRUE(find(at(1e9), "head-room above")->holds());
  EXPECT_FALSE(find(at(3e9), "head-room above")->holds());
  EXPECT_FALSE(find(at(3e9), "head-room below")->holds());
  a.weights.format = Format::f16;
  EXPECT_TRUE(find(at(1e8), "P's largest weight")->holds());
  EXPECT_FALSE(find(at(4e8), "P's largest weight")->holds());
  EXPECT_FALSE(find(at(4e8), "largest number of P's")->holds());
  a.exponent = Exponent::subtract_then_scale;
  EXPECT_EQ(find(at(3e9), "head-room"), nullptr) << "no product of the frame, nothing to fear";
}

TEST(AttentionDomain, head_room_must_hold_in_frames_that_the_row_leaves) {
  // fl(f·ĉ) at 5e9 misses by 2^8 octaves: inf · 0 before the maximum arrives at 0.
  Arithmetic fused = declared(Reduction::chunk_deferred);
  fused.exponent = Exponent::fused;
  EXPECT_FALSE(compute_bound(one_row({-5e9F, -5.0005e9F, 0}, {1, 1, 1}, 2), fused).domain[0].holds());
  EXPECT_TRUE(compute_bound(one_row({-5e5F, -5.0005e5F, 0}, {1, 1, 1}, 2), fused).domain[0].holds());
}

// Raw scores 6e38 apart are some octaves apart once scaled by 2^-126: a difference that overflows loses a weight of e^-7.
TEST(AttentionDomain, differences_of_raw_scores_stay_below_the_range_of_f32) {
  Arithmetic a = declared(Reduction::chunk_deferred);
  const auto holds = [&](float score, float scale = 0x1p-126F) {
    AttentionProblem p = one_row({-score, score}, {1, 2}, 1);
    p.scale = scale;
    return compute_bound(p, a).domain[0].holds();
  };
  a.exponent = Exponent::accurate;
  EXPECT_TRUE(holds(3e38F)) << "scaled before they are subtracted";
  a.unit = ScoreUnit::raw;
  a.lse_form = LseForm::scaled_max_plus_log;
  for (const Exponent exponent : {Exponent::fused, Exponent::subtract_then_scale}) {
    a.exponent = exponent;
    EXPECT_TRUE(holds(1.7e38F));
    EXPECT_FALSE(holds(1.71e38F));
    EXPECT_FALSE(holds(1.71e38F, 0x1.6p-121F)) << "times log2 e still below 2^-120";
    EXPECT_TRUE(holds(1.71e38F, 0x1.7p-121F)) << "a weight of 2^-256 is none";
    // The other form's frame is then too large for its head-room.
    EXPECT_EQ(holds(1.71e38F, 0x1p-10F), exponent == Exponent::subtract_then_scale);
  }
}

// Two products per key: −inf and a finite one. Beyond f32 a sum of numbers may meet the infinity: also in a row that is
// left without a weight.
TEST(AttentionDomain, finite_products_beside_an_infinite_one_are_held_where_the_answer_is_symbolic_too) {
  const Arithmetic a = declared(Reduction::chunk_deferred);
  const auto row = [](double infinite, double finite, bool second_key) {
    AttentionProblem p;
    p.q = Tensor::dense(Format::f32, {1, 1, 1, 2});
    p.k = Tensor::dense(Format::f32, {1, 1, 2, 2});
    p.v = Tensor::dense(Format::f32, {1, 1, 2, 1});
    for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
      for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_bits(i, encode(Format::f32, 1));
    }
    p.k.set({0, 0, 0, 0}, infinite);
    p.k.set({0, 0, 0, 1}, finite);
    p.q.set({0, 0, 0, 1}, 2);
    p.key_length = {second_key ? 2 : 1};
    p.plan = ChunkPlan::uniform(2, 1);
    return p;
  };
  for (const bool second : {false, true}) {
    EXPECT_FALSE(compute_bound(row(-kInfinity, 3e38, second), a).domain[0].holds()) << second;
    EXPECT_TRUE(compute_bound(row(-kInfinity, 1e38, second), a).domain[0].holds()) << second;
    EXPECT_TRUE(compute_bound(row(-kInfinity, -kInfinity, second), a).domain[0].holds()) << second;
    EXPECT_STREQ(compute_bound(row(-kInfinity, 3e38, second), a).domain[0].nearest.name,
                 preconditions(row(-kInfinity, 3e38, second), a, 0)[0].name);
  }
  AttentionProblem masked = row(-kInfinity, 3e38, false);
  masked.bias = Tensor::dense(Format::f32, {1, 1, 1, 2});
  for (const std::int64_t key : {0, 1}) masked.bias.set({0, 0, 0, key}, -kInfinity);
  EXPECT_TRUE(compute_bound(masked, a).domain[0].holds()) << "a mask forms no score";
  EXPECT_TRUE(preconditions(masked, a, 0).empty());
}

TEST(AttentionDomain, the_sum_is_held_without_its_scale_too) {
  Arithmetic lazy = declared(Reduction::chunk_deferred);
  lazy.exponent = Exponent::scaled_exp2;
  lazy.lazy_log2 = 60;
  lazy.weights.scale = 0x1p-60;
  const AttentionProblem p = one_row({0, 40}, {1e22F, 1e22F}, 1);  // e^40 · 1e22 leaves f32 once the scale is off
  EXPECT_FALSE(compute_bound(p, lazy).domain_of(0).holds());
}

TEST(AttentionDomain, bounds_are_numbers_where_nothing_is_known) {
  Arithmetic split = declared(Reduction::chunk_deferred);
  split.split = {.parts = 2, .partial_lse = Format::bf16};
  split.ending = Ending::division_free;
  EXPECT_NO_THROW(compute_bound(one_row({1e7F, -1e7F}, {1, 1}, 1), split));
  for (const Exponent exponent : {Exponent::fused, Exponent::unfused}) {
    Arithmetic resident = declared(Reduction::row_resident);
    resident.ending = Ending::divide;
    resident.exponent = exponent;
    EXPECT_NO_THROW(compute_bound(one_row({1e10F}, {1}, 1), resident));
  }
}

}  // namespace
}  // namespace flashproof::bound
