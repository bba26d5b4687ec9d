// Every cost of attention on a case that needs it: the arithmetic as it is done stays within its own bound, and goes
// beyond the bound of the same declaration without that step.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/bound/attention/test/needed_cost.h"
#include "reference/model/model.h"
#include "reference/oracle/oracle.h"

namespace flashproof::bound {
namespace {

Arithmetic deferred(Exponent exponent = Exponent::accurate) {
  Arithmetic a = declared(Reduction::chunk_deferred);
  a.exponent = exponent;
  return a;
}

double alternating(std::int64_t key) { return key % 2 == 0 ? 1 : -1; }

// ---- exponents ------------------------------------------------------------------------------------------------------

TEST(AttentionCosts, a_lazy_frame_pays_for_weights_above_one) {
  Arithmetic lazy = deferred();
  lazy.lazy_log2 = 8;
  lazy.log_error = 0x1p-8;
  Arithmetic prompt = lazy;
  prompt.lazy_log2 = 0;
  const AttentionProblem p = row_of(8, 1, [](std::int64_t j) { return j == 0 ? 0 : 5; }, constant);
  expect_needed("the logarithm of a larger sum", p, lazy, prompt);
}

// ---- scores ---------------------------------------------------------------------------------------------------------

TEST(AttentionCosts, a_query_stored_in_sixteen_bits_pays_for_its_rounding) {
  AttentionProblem p = row_of(16, 16, [](std::int64_t j) { return 40 + 0.25 * static_cast<double>(j); }, alternating);
  p.scale = 0.3F;
  Arithmetic done = deferred();
  done.query = Format::bf16;
  Arithmetic without = deferred();
  without.query_scaled = true;
  expect_needed("bf16 query", p, done, without);
}

TEST(AttentionCosts, a_stored_query_pays_for_its_underflow) {
  AttentionProblem p = row_of(4, 4, [](std::int64_t j) { return 0x1p26 * static_cast<double>(j); }, alternating);
  p.q.set({0, 0, 0, 0}, 0x1.8p-26);  // below half the smallest f16
  Arithmetic done = deferred();
  done.query = Format::f16;
  Arithmetic without = deferred();
  without.query = Format::bf16;
  expect_needed("f16 query", p, done, without);
}

TEST(AttentionCosts, tf32_inputs_pay_for_their_lost_bits) {
  const AttentionProblem p =
      row_of(16, 16, [](std::int64_t j) { return 10 + 0x1.7p-3 * static_cast<double>(j) + 0x1.fp-8; }, alternating);
  Arithmetic done = deferred();
  done.dot.tf32_inputs = true;
  expect_needed("tf32", p, done, deferred());
}

TEST(AttentionCosts, softcap_pays_for_the_absolute_error_of_tanh) {
  AttentionProblem p = row_of(16, 16, [](std::int64_t j) { return 10 + static_cast<double>(j); }, alternating);
  p.softcap = 20;
  Arithmetic done = deferred();
  done.tanh_error = 0x1p-11;
  Arithmetic without = done;
  without.tanh_error = 0x1.1p-24;
  expect_needed("tanh", p, done, without);
}

/// What is done to `p`, judged by the bound of the same row with its scores given as numbers.
attack::Violations judged_as_given(const AttentionProblem& p, const std::vector<double>& scores, const Arithmetic& a) {
  AttentionProblem given = p;
  given.alibi = given.bias = given.sink = Tensor();
  for (std::size_t j = 0; j < scores.size(); ++j) given.k.set({0, 0, static_cast<std::int64_t>(j), 0}, scores[j]);
  attack::Violations tally;
  const Truth truth = narrow_truth(p, Format::f32);
  const Bound bound = compute_bound(given, a);
  for (const Lean lean : {Lean::aligned, Lean::opposed, Lean::nearest}) {
    tally.take(attack::judge(p, run_model_unrounded(p, a, {.lean = lean}), truth, bound));
  }
  return tally;
}

TEST(AttentionCosts, alibi_and_bias_pay_for_their_roundings) {
  constexpr std::int64_t kKeys = 64;
  constexpr float kSlope = 33333.33F;
  AttentionProblem p =
      row_of(kKeys, kKeys, [](auto j) { return kSlope * static_cast<double>(kKeys - 1 - j); }, alternating);
  std::vector<double> scores;
  scores.reserve(kKeys);
  for (std::int64_t j = 0; j < kKeys; ++j) {  // k cancels the slope but for its own rounding
    scores.push_back(p.k.at({0, 0, j, 0}) - static_cast<double>(kSlope) * static_cast<double>(kKeys - 1 - j));
  }
  p.alibi = Tensor::dense(Format::f32, {1, 1});
  p.alibi.set({0, 0}, kSlope);
  EXPECT_EQ(attack::attack(p, deferred(), deferred(), 1, kRuns).violations, 0);
  EXPECT_GT(judged_as_given(p, scores, deferred()).violations, 0) << "the case does not need ALiBi's cost";

  p.alibi = Tensor();
  p.bias = Tensor::dense(Format::f32, {1, 1, 1, kKeys});
  for (std::int64_t j = 0; j < kKeys; ++j) {
    p.k.set({0, 0, j, 0}, 0.001 * static_cast<double>(j));
    p.bias.set({0, 0, 0, j}, 1e5);  // moves every score alike: o is that of the scores without it
    scores[static_cast<std::size_t>(j)] = p.k.at({0, 0, j, 0});
  }
  EXPECT_EQ(attack::attack(p, deferred(), deferred(), 1, kRuns).violations, 0);
  EXPECT_GT(judged_as_given(p, scores, deferred()).violations, 0) << "the case does not need the bias's cost";
}

// A sink is a key with v = 0 that was there first.
TEST(AttentionCosts, a_sink_costs_what_such_a_key_would) {
  for (const double sink : {-3.0, 0.5, 4.0}) {
    AttentionProblem p = row_of(24, 4, [](auto j) { return 0.1 * static_cast<double>(j % 7); }, constant);
    AttentionProblem key_first = row_of(
        25, 4, [&](auto j) { return j == 0 ? sink : 0.1 * static_cast<double>((j - 1) % 7); },
        [](auto j) { return j == 0 ? 0.0 : 1.0; });
    key_first.plan = {{0, 1, 5, 9, 13, 17, 21, 25}, {0, 1, 2, 3, 4, 5, 6}};
    p.sink = Tensor::dense(Format::f32, {1});
    p.sink.set({0}, sink);
    for (const Reduction reduction : {Reduction::chunk_deferred, Reduction::chunk_normalized, Reduction::row_resident,
                                      Reduction::chunk_recap, Reduction::lse_running}) {
      const Arithmetic a = declared(reduction);
      EXPECT_EQ(attack::attack(p, a, a, 1, kRuns).violations, 0);
      const Bound with = compute_bound(p, a), as_key = compute_bound(key_first, a);
      EXPECT_NEAR(with.o[0].total(), as_key.o[0].total(), 0.3 * as_key.o[0].total());
      EXPECT_GT(with.o[0].weights, 0.1 * as_key.o[0].weights);
    }
  }
}

// ---- sums and P -----------------------------------------------------------------------------------------------------

TEST(AttentionCosts, f16_weights_pay_for_underflow) {
  // Weights of e^-18 = 1.5e-8: half the smallest f16 is 3e-8, so each is lost whole; bf16 keeps eight bits of it.
  const AttentionProblem p =
      row_of(257, 257, [](auto j) { return j == 0 ? 0 : -18; }, [](auto j) { return j == 0 ? 0.0 : 1.0; });
  Arithmetic done = deferred();
  done.weights.format = Format::f16;
  Arithmetic without = deferred();
  without.weights.format = Format::bf16;
  expect_needed("f16 P", p, done, without);
}

TEST(AttentionCosts, e4m3_weights_pay_for_what_a_scale_would_keep) {
  // e^-8 = 3.4e-4 is below half the smallest e4m3, 2^-10; 256 times it is not.
  const AttentionProblem p =
      row_of(65, 65, [](auto j) { return j == 0 ? 0 : -8; }, [](auto j) { return j == 0 ? 0.0 : 1.0; });
  Arithmetic done = deferred();
  done.weights.format = Format::e4m3fn;
  Arithmetic without = done;
  without.weights.scale = 256;
  expect_needed("unscaled e4m3 P", p, done, without);
  EXPECT_EQ(attack::attack(p, without, without, 1, kRuns).violations, 0);
}

TEST(AttentionCosts, weights_lost_in_their_own_chunk_count_where_the_frame_rises_later) {
  // The chunk of key 0 hides the others from f16; that the maximum rises later does not bring them back.
  const AttentionProblem p = row_of(
      65, 64, [](auto j) { return j == 0    ? 0
                                  : j == 64 ? 1
                                            : -18; }, [](auto j) { return j % 64 == 0 ? 0.0 : 1.0; });
  Arithmetic done = deferred();
  done.weights.format = Format::f16;
  Arithmetic without = deferred();
  without.weights.format = Format::bf16;
  expect_needed("f16 P before a rise", p, done, without);
}

TEST(AttentionCosts, a_denominator_of_rounded_weights_pays_for_them_in_lse) {
  const AttentionProblem p = row_of(64, 64, [](auto j) { return j == 0 ? 0 : -0.3; }, constant);
  Arithmetic done = deferred();
  done.weights = {.format = Format::f16, .summed = true};
  Arithmetic without = done;
  without.weights.summed = false;
  expect_needed("summed", p, done, without);
}

TEST(AttentionCosts, one_signed_values_pay_for_truncation) {
  const AttentionProblem p = row_of(1024, 1024, [](auto) { return 0; }, [](auto j) { return 1 + 0x1p-5 * (j % 31); });
  Arithmetic done = deferred();
  done.values = {.unit = kHopperWgmmaFp8, .tf32_inputs = true};
  Arithmetic without = done;
  without.values.unit = kBlackwellFp8;
  expect_needed("13 fraction bits", p, done, without);
  EXPECT_GT(compute_bound(p, done).o[0].drift, 0) << "truncation has a sign";
}

TEST(AttentionCosts, the_rounding_of_stored_weights_does_not_drift) {
  const AttentionProblem p = row_of(1024, 1024, [](auto) { return 0; }, [](auto j) { return 1 + 0x1p-5 * (j % 31); });
  const auto drift = [&](Format stored, bool summed) {
    Arithmetic a = deferred();
    a.values = {.unit = kHopperF16};
    a.weights = {.format = stored, .summed = summed};
    return compute_bound(p, a).o[0].drift;
  };
  const double cut = drift(Format::f32, false);
  EXPECT_GT(cut, 0);
  for (const Format stored : {Format::f16, Format::bf16, Format::e4m3fn}) {
    // Every key counts as one with all steps after it, where its own rounding is much more than they: twice the mean.
    EXPECT_LE(drift(stored, false), 2.1 * cut) << info(stored).name;
    EXPECT_GE(drift(stored, false), cut) << info(stored).name;
    const double seen = 1 + unit_roundoff(stored);  // weights that much larger beside a sum that much smaller
    EXPECT_LE(drift(stored, true), 1.001 * seen * seen * cut) << info(stored).name;
  }
}

TEST(AttentionCosts, a_unit_aligns_subnormal_factors_as_their_formats_least_exponent) {
  // 2^-24 in f16 has the exponent -14 there: beside it products of 2^-41 are cut, which 2^-38 / 2^25 would keep.
  AttentionProblem p = row_of(2, 2, [](auto) { return 0; }, alternating);
  for (Tensor* t : {&p.q, &p.k, &p.v}) *t = Tensor::dense(Format::f16, {1, 1, t == &p.q ? 1 : 2, 16});
  for (std::int64_t c = 0; c < 16; ++c) {
    p.q.set({0, 0, 0, c}, c == 0 ? 0x1p-24 : 0x1.8p-10);
    for (std::int64_t j = 0; j < 2; ++j) {
      p.k.set({0, 0, j, c}, c == 0 ? 1 : j == 0 ? 0x1.8p-13 : -0x1.8p-13);
      p.v.set({0, 0, j, c}, alternating(j));
    }
  }
  p.scale = 0x1p38F;
  Arithmetic done = deferred();
  done.dot = {.unit = kVoltaF16};
  EXPECT_EQ(attack::attack(p, done, done, 1, kRuns).violations, 0);
  EXPECT_GT(attack::attack(p, done, done, 1, kRuns).elements, 0);
}

// ---- ends -----------------------------------------------------------------------------------------------------------

TEST(AttentionCosts, sixteen_bits_of_partial_lse_are_eight_percent_of_a_weight_at_twenty) {
  Arithmetic done = deferred();
  done.split = {.parts = 4, .partial_lse = Format::bf16};
  Arithmetic without = done;
  without.split.partial_lse = Format::f32;
  const AttentionProblem p = row_of(4, 1, [](auto j) { return 20 + 0.04 * static_cast<double>(j); }, alternating);
  expect_needed("bf16 lse", p, done, without);
}

TEST(AttentionCosts, parts_of_a_split_pay_for_the_size_of_lse_and_sums_do_not) {
  // Equal scores: every hop rounds lse by up to 2^-8, and the first key has met all hops.
  const AttentionProblem p = row_of(400, 1, [](auto) { return 65536; }, [](auto j) { return j < 100 ? 1 : 0; });
  Arithmetic states = deferred();
  states.split = {.parts = 400, .combine = Reduction::pairwise_fold, .weights = MergeWeights::running};
  Arithmetic sums = states;
  sums.split.weights = MergeWeights::max_sum;
  expect_needed("a rounded lse per hop", p, states, sums);
  EXPECT_EQ(attack::attack(p, sums, sums, 1, kRuns).violations, 0);
  // What is left there is the scores' own error.
  EXPECT_LT(compute_bound(p, sums).o[0].total(), 1.2 * compute_bound(p, deferred()).o[0].total() + 1e-4);
}

TEST(AttentionCosts, an_ending_without_division_pays_for_the_size_of_lse) {
  const AttentionProblem p = row_of(3, 3, [](auto j) { return 1e5 + 0.0078125 * static_cast<double>(j); }, constant);
  Arithmetic done = deferred();
  done.ending = Ending::division_free;
  expect_needed("e^(m - lse)", p, done, deferred());
}

TEST(AttentionCosts, three_stages_pay_for_stored_quotients) {
  Arithmetic done = declared(Reduction::row_resident);
  done.weights.format = Format::f16;
  const AttentionProblem p =
      row_of(64, 64, [](auto j) { return j == 0 ? 0 : -0.3; }, [](auto j) { return j == 0 ? 0.0 : 1.0; });
  expect_needed("P = e/l in f16", p, done, declared(Reduction::row_resident));
}

TEST(AttentionCosts, a_subnormal_accumulator_cuts_addends_at_the_least_exponent) {
  // The accumulator stands at 2^-126 whatever its value: products of 2^-150 lose most of themselves beside it.
  for (const BlockFma& unit : {kVoltaF16, kHopperF16}) {
    Arithmetic a = declared(Reduction::row_resident);
    a.ending = Ending::divide;
    a.values = {.chains = 1, .unit = unit};
    const double v = unit == kVoltaF16 ? 8.2e-43 : 3.3e-41;
    const auto value = [v](std::int64_t) { return v; };
    const auto score = [](std::int64_t j) { return -0.01 * static_cast<double>(j % 7); };
    const attack::Violations tally = attack::attack(row_of(1024, 1024, score, value), a, a, 1, kRuns);
    EXPECT_EQ(tally.violations, 0) << tally.first;
    EXPECT_GT(tally.elements, 0);
  }
}

}  // namespace
}  // namespace flashproof::bound
