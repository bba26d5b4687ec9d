#include "reference/error/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "reference/error/test/scene.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

const double kFltMax = info(Format::f32).max_finite;

Verdict element(double computed, Ball truth, double bound, bool in_domain = true, double range = kInfinity,
                Format format = Format::f32, Overflow overflow = Overflow::ieee) {
  Contract contract;
  contract.overflow = overflow;
  return judge_element(format, encode(format, computed), truth, {bound, 0, 0, 0}, range, in_domain, contract);
}

std::string text(double computed, Ball truth, double bound, bool in_domain = true, double range = kInfinity) {
  return to_string(element(computed, truth, bound, in_domain, range));
}

Judgement judged(const Scene& s) { return judge(s.output, s.truth, s.bound, Contract{}, 0); }
std::string verdict(const Scene& s) { return to_string(judged(s).worst); }

TEST(JudgeElement, ClassIsDecidedBeforeAnyArithmetic) {
  const Ball nan_truth{0, 0, 0, kNaN}, plus_inf{0, 0, 0, kPosInf}, minus_inf{0, 0, 0, kNegInf},
      inf_or_nan{0, 0, 0, kPosInf | kNaN}, any{1, 0, 0, kFinite | kPosInf | kNaN};
  EXPECT_EQ(text(kNan, nan_truth, 0), "pass");
  EXPECT_EQ(text(0, nan_truth, kInfinity), "fail(laundering)");
  EXPECT_EQ(text(kInfinity, nan_truth, kInfinity), "fail(class_mismatch)");
  EXPECT_EQ(text(-kInfinity, nan_truth, kInfinity), "fail(class_mismatch)");
  EXPECT_EQ(text(kInfinity, plus_inf, 0), "pass");
  EXPECT_EQ(text(-kInfinity, plus_inf, 0), "fail(class_mismatch)");
  EXPECT_EQ(text(kFltMax, plus_inf, 0), "fail(class_mismatch)");
  EXPECT_EQ(text(-kFltMax, minus_inf, kInfinity), "fail(class_mismatch)");
  EXPECT_EQ(text(kNan, minus_inf, 0), "fail(class_mismatch)");
  EXPECT_EQ(text(kInfinity, inf_or_nan, 0), "pass");
  EXPECT_EQ(text(kNan, inf_or_nan, 0), "pass");
  EXPECT_EQ(text(5, inf_or_nan, kInfinity), "fail(laundering)");
  EXPECT_EQ(text(kNan, any, 0), "pass");
  EXPECT_EQ(text(1, any, 0), "pass");
  EXPECT_EQ(text(2, any, 0), "fail(exceeds_bound)");
  EXPECT_EQ(text(-kInfinity, any, 0), "fail(class_mismatch)");
  EXPECT_EQ(text(1, {1, 0, 0, 0}, 0), "inconclusive");  // a truth without a class excuses nobody
  // The domain concerns the overflow of finite answers only.
  EXPECT_EQ(text(0, nan_truth, 0, false), "fail(laundering)");
  EXPECT_EQ(text(0, minus_inf, 0, false), "fail(class_mismatch)");
  EXPECT_EQ(text(kInfinity, nan_truth, 0, false), "fail(class_mismatch)");
}

TEST(JudgeElement, AnInfinityMayBeNanOutsideTheDomainAndNothingElse) {
  for (const double sign : {1.0, -1.0}) {
    const Ball infinite{0, 0, 0, sign > 0 ? kPosInf : kNegInf};
    EXPECT_EQ(text(kNan, infinite, 0, true), "fail(class_mismatch)");
    EXPECT_EQ(text(kNan, infinite, 0, false), "out_of_domain");
    EXPECT_EQ(text(sign * kInfinity, infinite, 0, false), "pass");
    EXPECT_EQ(text(-sign * kInfinity, infinite, 0, false), "fail(class_mismatch)");
    EXPECT_EQ(text(sign * kFltMax, infinite, 0, false), "fail(class_mismatch)");
  }
}

TEST(JudgeElement, FiniteTruthMetByNanOrInf) {
  const Ball one{1, 0, 0};
  EXPECT_EQ(text(kNan, one, 1), "fail(class_mismatch)");
  EXPECT_EQ(text(kInfinity, one, 1), "fail(class_mismatch)");
  EXPECT_EQ(text(kNan, one, kInfinity), "fail(class_mismatch)");  // no bound ever makes NaN acceptable
  EXPECT_EQ(text(kInfinity, {kFltMax, 0, 0}, 0), "fail(class_mismatch)");
  // The overflow tie of f32 is 2^128 − 2^103: on it RN is inf, one ulp of the double below it is not.
  const double tie = 0x1.ffffffp127;
  EXPECT_EQ(text(kInfinity, {kFltMax, 0, 0}, tie - kFltMax), "pass");
  EXPECT_EQ(text(kInfinity, {kFltMax, -0x1p60, 0}, tie - kFltMax), "fail(class_mismatch)");
  EXPECT_EQ(text(kInfinity, {kFltMax, 0, 0x1p60}, tie - kFltMax), "inconclusive");
  EXPECT_EQ(text(kInfinity, {1e300, 0, 0}, 0), "pass");
  EXPECT_EQ(text(kFltMax, {1e300, 0, 0}, 0), "fail(exceeds_bound)");
}

TEST(JudgeElement, OverflowAsTheContractSays) {
  const Ball large{1000, 0, 0};
  const auto fp8 = [&](double computed, Overflow overflow) {
    return to_string(element(computed, large, 1, true, kInfinity, Format::e4m3fn, overflow));
  };
  EXPECT_EQ(fp8(kNan, Overflow::ieee), "pass");  // e4m3fn has no inf: overflow is NaN
  EXPECT_EQ(fp8(448, Overflow::ieee), "fail(exceeds_bound)");
  EXPECT_EQ(fp8(448, Overflow::saturate), "pass");
  EXPECT_EQ(
      to_string(judge_element(Format::e4m3fn, 0x7f, large, {}, kInfinity, true, {.overflow = Overflow::saturate})),
      "fail(class_mismatch)");
  EXPECT_EQ(to_string(judge_element(Format::e4m3fn, 0x7f, {1, 0, 0}, {1, 0, 0, 0}, kInfinity, true, {})),
            "fail(class_mismatch)");
  EXPECT_EQ(
      to_string(judge_element(Format::f16, 0x7c00, {1e6, 0, 0}, {}, kInfinity, true, {.overflow = Overflow::saturate})),
      "fail(class_mismatch)");
  EXPECT_EQ(
      to_string(judge_element(Format::f16, 0x7bff, {1e6, 0, 0}, {}, kInfinity, true, {.overflow = Overflow::saturate})),
      "pass");
}

TEST(JudgeElement, OutOfDomain) {
  const Ball one{1, 0, 0};
  EXPECT_EQ(text(kNan, one, 0.1, false), "out_of_domain");
  EXPECT_EQ(text(-kInfinity, one, 0.1, false), "out_of_domain");
  EXPECT_EQ(text(1.05, one, 0.1, false), "out_of_domain");
  EXPECT_EQ(text(1.2, one, 0.1, false), "fail(silently_wrong)");
  EXPECT_EQ(text(1.2, one, kInfinity, false), "out_of_domain");
  EXPECT_EQ(text(1.1015625, {1, 0, 0.01}, 0.1, false), "inconclusive");
}

/// A row whose form has left its range, for a kernel that refuses those or does not.
std::string beyond_range(double computed, bool refuses, bool in_domain = true, double bound = 0.1) {
  RowDomain domain;
  domain.require({"exponentials of raw scores below the f32 range: log of their sum", 100, 88, false});
  if (!in_domain) domain.require({"head-room", 2, 1});
  const Ball one{1, 0, 0};
  const ElementBound limit{bound, 0, 0, 0};
  const Element e{Part::o, 0, 0, Format::f32, encode(Format::f32, computed), computed, one, limit, kInfinity, domain};
  const Decision decision = decide(e, {.refuses_beyond_range = refuses});
  EXPECT_FALSE(decision.investigate);
  return to_string(decision.verdict());
}

TEST(JudgeElement, ARefusalBeyondTheRangeOfTheFormIsOutOfDomain) {
  EXPECT_EQ(beyond_range(kNan, true), "out_of_domain");
  EXPECT_EQ(beyond_range(kInfinity, true), "out_of_domain");
  EXPECT_EQ(beyond_range(1.05, true), "out_of_domain") << "right, but nothing was promised there";
  EXPECT_EQ(beyond_range(1.2, true), "fail(silently_wrong)") << "a refusal is NaN, never a wrong number";
  EXPECT_EQ(beyond_range(0, true), "fail(silently_wrong)");
}

TEST(JudgeElement, WithoutARefusalTheFormExcusesNothing) {
  EXPECT_EQ(beyond_range(kNan, false), "fail(class_mismatch)");
  EXPECT_EQ(beyond_range(kInfinity, false), "fail(class_mismatch)");
  EXPECT_EQ(beyond_range(1.05, false), "pass");
  EXPECT_EQ(beyond_range(1.2, false), "fail(exceeds_bound)");
}

TEST(JudgeElement, ARefusalIsNoExcuseInsideTheRange) {
  Contract refuses;
  refuses.refuses_beyond_range = true;
  EXPECT_EQ(to_string(judge_element(Format::f32, encode(Format::f32, kNan), {1, 0, 0}, {0.1, 0, 0, 0}, kInfinity, true,
                                    refuses)),
            "fail(class_mismatch)");
  // Nor where NaN is the answer, and a finite number launders it.
  RowDomain domain;
  domain.require({"log of the sum", 100, 88, false});
  const Ball nan_truth{0, 0, 0, kNaN};
  const ElementBound none;
  const Element e{Part::o, 0, 0, Format::f32, encode(Format::f32, 1), 1, nan_truth, none, kInfinity, domain};
  EXPECT_EQ(to_string(decide(e, refuses).verdict()), "fail(laundering)");
}

TEST(JudgeElement, OutsideBothDomainsIsOutsideWhateverTheContract) {
  for (const bool refuses : {false, true}) {
    EXPECT_EQ(beyond_range(kNan, refuses, false), "out_of_domain");
    EXPECT_EQ(beyond_range(1.2, refuses, false), "fail(silently_wrong)");
  }
}

TEST(JudgeElement, VacuousOnlyWhereItWouldPass) {
  const Ball one{1, 0, 0};
  EXPECT_EQ(text(1, one, 0.5, true, 1.0), "vacuous");
  EXPECT_EQ(text(1, one, 0.4999, true, 1.0), "pass");
  EXPECT_EQ(text(2, one, 0.5, true, 1.0), "fail(exceeds_bound)");
  EXPECT_EQ(text(kNan, one, 0.5, true, 1.0), "fail(class_mismatch)");
  EXPECT_EQ(text(1e30, one, kInfinity), "vacuous");
  EXPECT_EQ(text(kInfinity, one, kInfinity), "vacuous");
  EXPECT_EQ(text(1, one, 1e30), "pass");  // lse: no range
  EXPECT_EQ(text(1, one, 0.1, true, kNan), "vacuous");
  EXPECT_EQ(text(0, {0, 0, 0}, 0, true, 0), "pass");  // the exact zero of an empty row
  EXPECT_EQ(text(1, {0, 0, 0}, 0, true, 0), "fail(exceeds_bound)");
}

TEST(JudgeElement, SignedZerosAreEqual) {
  EXPECT_EQ(text(-0.0, {0, 0, 0}, 0), "pass");
  EXPECT_EQ(text(0.0, {-0.0, 0, 0}, 0), "pass");
  EXPECT_EQ(text(-0.0, {0x1p-200, 0, 0}, 0), "pass");
}

TEST(JudgeElement, ABrokenBoundOrTruthDecidesNothing) {
  const Ball one{1, 0, 0};
  EXPECT_EQ(text(1, one, kNan), "inconclusive");
  EXPECT_EQ(text(1, one, -1), "inconclusive");
  EXPECT_EQ(text(1, one, -0x1p-40), "inconclusive");  // less than half an ulp: the quick test must not take it
  EXPECT_EQ(text(1, {1, 0, -0x1p-40}, 0x1p-30), "inconclusive");
  EXPECT_EQ(text(1, {kNan, 0, 0}, 1), "inconclusive");
  EXPECT_EQ(text(1, {1, 0, kInfinity}, 1), "inconclusive");
  EXPECT_EQ(text(kNan, one, kNan), "fail(class_mismatch)");
}

TEST(Judge, AcceptsTheRoundedTruth) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const Judgement j = judged(make_scene(3, 5, format));
    EXPECT_EQ(to_string(j.worst), "pass");
    EXPECT_EQ(j.worst.detail, "");
    EXPECT_EQ(j.o.elements, 15U);
    EXPECT_EQ(j.lse.elements, 3U);
    EXPECT_LE(j.o.max_ulp, 0.5);
    EXPECT_LE(j.o.max_ratio, 1);
    EXPECT_GT(j.o.max_ratio, 0);
  }
}

TEST(Judge, RejectsTrivialOutputs) {
  Scene zeros = make_scene(3, 5), nans = zeros, swapped = zeros, infs = zeros, lse_shift = zeros;
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 5; ++c) {
      zeros.set_o(r, c, 0);
      nans.set_o(r, c, kNan);
    }
    nans.set_lse(r, kNan);
    lse_shift.set_lse(r, static_cast<double>(r) + 1.0 / 3 + std::log(2.0));
  }
  for (std::int64_t c = 0; c < 5; ++c) {
    const auto a = static_cast<std::int64_t>(swapped.offset(0, c)), b = swapped.offset(1, c);
    const std::uint64_t bits = swapped.output.o.bits(a);
    swapped.output.o.set_bits(a, swapped.output.o.bits(b));
    swapped.output.o.set_bits(b, bits);
  }
  infs.set_true_o(1, 1, {kFltMax, 0, 0});
  infs.set_o(1, 1, kInfinity);
  EXPECT_EQ(verdict(zeros), "fail(exceeds_bound)");
  EXPECT_EQ(verdict(swapped), "fail(exceeds_bound)");
  EXPECT_EQ(verdict(lse_shift), "fail(exceeds_bound)");
  EXPECT_EQ(verdict(infs), "fail(class_mismatch)");
  // Nothing but NaN. Negative control: a checker that keeps max(|ŷ − o|) with fmax and rejects what exceeds the bound
  // finds the perfect kernel here.
  double dropped = 0;
  for (std::int64_t i = 0; i < 15; ++i) {
    const Element e = element_at(nans.output, nans.truth, nans.bound, Part::o, i);
    dropped = std::fmax(dropped, std::fabs(e.computed - e.truth.hi));
  }
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(verdict(nans), "fail(class_mismatch)");
  EXPECT_EQ(judged(nans).o.failures[static_cast<std::size_t>(Failure::class_mismatch)], 15U);
  EXPECT_EQ(judged(nans).o.max_ratio, kInfinity);
}

TEST(Judge, RejectsOneUlpBeyondTheBoundAndNamesTheElement) {
  Scene s = make_scene(3, 5);
  s.set_true_o(2, 3, {0.5, 0, 0});
  s.set_o(2, 3, 0.5 + 0x1p-20);  // B' = 2^-20 exactly
  EXPECT_EQ(verdict(s), "pass");
  s.set_o(2, 3, 0.5 + 0x1p-20 + 0x1p-24);
  const Judgement j = judged(s);
  EXPECT_EQ(to_string(j.worst), "fail(exceeds_bound)");
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("o[row 2, column 3]"));
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("exact 0.5 "));
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("numerator 0 "));
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("(weights dominates)"));
  EXPECT_GT(j.o.max_ratio, 1);
  EXPECT_EQ(j.o.witness.index, 13U);
}

TEST(Judge, WhatAKernelDoesNotReturnIsNotJudged) {
  for (const bool wrong_o : {true, false}) {
    Scene s = make_scene(3, 5);
    if (wrong_o) {
      s.set_o(2, 3, 7);
    } else {
      s.set_lse(1, kNan);
    }
    const auto with = [&](Returns returns) {
      Contract contract;
      contract.returns = returns;
      return judge(s.output, s.truth, s.bound, contract, 0);
    };
    EXPECT_TRUE(with(Returns::both).worst.failed());
    EXPECT_EQ(with(Returns::o).worst.failed(), wrong_o);
    EXPECT_EQ(with(Returns::lse).worst.failed(), !wrong_o);
    EXPECT_EQ(with(Returns::o).lse.elements, 0U);
    EXPECT_EQ(with(Returns::lse).o.elements, 0U);
  }
}

TEST(Judge, DomainIsPerRow) {
  Scene s = make_scene(3, 5);
  s.bound.domain[1].require({"scores below the accumulator's range", 2, 1});
  s.set_o(1, 4, kInfinity);
  s.set_lse(1, kNan);
  const Judgement j = judged(s);
  EXPECT_EQ(to_string(j.worst), "pass");
  EXPECT_EQ(j.o.verdicts[static_cast<std::size_t>(VerdictKind::out_of_domain)], 5U);
  EXPECT_EQ(j.lse.verdicts[static_cast<std::size_t>(VerdictKind::out_of_domain)], 1U);
  EXPECT_EQ(j.o.max_ratio < 1, true);
  s.set_o(1, 4, 17);
  EXPECT_EQ(verdict(s), "fail(silently_wrong)");
  EXPECT_THAT(judged(s).worst.detail, testing::HasSubstr("scores below"));
}

TEST(Judge, an_empty_output_decides_nothing) {
  EXPECT_EQ(verdict(make_scene(0, 5)), "vacuous");
  EXPECT_EQ(judged(make_scene(0, 5)).o.elements, 0U);
  EXPECT_EQ(judged(make_scene(2, 0)).lse.elements, 2U);
}

TEST(Judge, SizesThatDoNotFitAreTheHarnessFault) {
  Scene s = make_scene(3, 5);
  s.bound.range.pop_back();
  EXPECT_THROW(judged(s), std::logic_error);
  Scene t = make_scene(3, 5);
  t.output.lse = Tensor::dense(Format::f32, {2});
  EXPECT_THROW(judged(t), std::logic_error);
}

}  // namespace
}  // namespace flashproof
