// The second verdict: above the probable bound, below the deterministic one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "reference/error/acceptance.h"
#include "reference/error/test/rapidcheck_seed.h"
#include "reference/error/test/scene.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

Decision decided(Format format, double computed, const Ball& truth, const ElementBound& bound, double range = kInfinity,
                 bool in_domain = true) {
  const RowDomain domain{in_domain ? Precondition{} : Precondition{"head-room", 2, 1}};
  const std::uint64_t bits = encode(format, computed);
  return decide({Part::o, 0, 0, format, bits, decode(format, bits), truth, bound, range, domain}, Contract{});
}

ElementBound bound_of(double total, double probable) {
  ElementBound bound{.weights = total};
  bound.probable = probable;
  return bound;
}

TEST(Probable, an_error_between_the_two_bounds_passes_and_is_to_be_investigated) {
  const ElementBound bound = bound_of(0x1p-16, 0x1p-20);
  for (const double sign : {1.0, -1.0}) {
    const Ball truth{0.5, 0, 0};
    const Decision below = decided(Format::f32, 0.5 + sign * 0x1p-20, truth, bound);
    const Decision between = decided(Format::f32, 0.5 + sign * 0x1p-18, truth, bound);
    const Decision above = decided(Format::f32, 0.5 + sign * 0x1p-15, truth, bound);
    EXPECT_EQ(below.kind, VerdictKind::pass);
    EXPECT_FALSE(below.investigate);
    EXPECT_EQ(between.kind, VerdictKind::pass);
    EXPECT_TRUE(between.investigate);
    EXPECT_EQ(above.failure, Failure::exceeds_bound);
    EXPECT_FALSE(above.investigate);
  }
}

TEST(Probable, goes_through_the_rounding_into_the_storage_format) {
  // In bf16 the answers around 1 + 2^-9 are 1 and 1 + 2^-7: half a unit away, which no bound has to pay for.
  const ElementBound bound = bound_of(0x1p-6, 0x1p-20);
  EXPECT_FALSE(decided(Format::bf16, 1, {1 + 0x1p-9, 0, 0}, bound).investigate);
  EXPECT_TRUE(decided(Format::bf16, 1 + 0x1p-7, {1 + 0x1p-9, 0, 0}, bound).investigate);
  EXPECT_TRUE(decided(Format::bf16, 1 - 0x1p-8, {1 + 0x1p-9, 0, 0}, bound).investigate);
}

TEST(Probable, says_nothing_where_it_is_absent_out_of_domain_open_or_vacuous_itself) {
  const Ball truth{0.5, 0, 0};
  EXPECT_FALSE(decided(Format::f32, 0.5 + 0x1p-18, truth, bound_of(0x1p-16, 0)).investigate);
  EXPECT_FALSE(decided(Format::f32, 0.5 + 0x1p-18, truth, bound_of(0x1p-16, 0x1p-16)).investigate);
  EXPECT_FALSE(decided(Format::f32, 0.5 + 0x1p-18, truth, bound_of(0x1p-16, 0x1p-20), kInfinity, false).investigate);
  EXPECT_FALSE(decided(Format::f32, 0.5 + 0x1p-18, {0.5, 0, 0x1p-18}, bound_of(0x1p-16, 0x1p-20)).investigate);
  // The deterministic bound is vacuous, the probable one is not: it decides.
  const Decision vacuous = decided(Format::f32, 0.5 + 0x1p-18, truth, bound_of(1, 0x1p-20), 0x1p-3);
  EXPECT_EQ(vacuous.kind, VerdictKind::vacuous);
  EXPECT_TRUE(vacuous.investigate);
  EXPECT_FALSE(decided(Format::f32, 0.5 + 0x1p-18, truth, bound_of(1, 0x1p-20), 0x1p-19).investigate);
}

TEST(Probable, the_statistics_count_it_and_name_the_worst) {
  Scene s = make_scene(3, 5);
  for (ElementBound& b : s.bound.o) b.probable = 0x1p-22;
  s.set_true_o(1, 2, {0.5, 0, 0});
  s.set_o(1, 2, 0.5 + 0x1p-21);
  s.set_true_o(2, 4, {0.5, 0, 0});
  s.set_o(2, 4, 0.5 - 0x1.8p-21);
  const Judgement j = judge(s.output, s.truth, s.bound, {}, 7);
  EXPECT_EQ(to_string(j.worst), "pass");
  EXPECT_EQ(j.o.investigate, 2U);
  EXPECT_EQ(j.o.probable_witness.index, 14U);
  EXPECT_EQ(j.o.probable_witness.case_index, 7U);
  EXPECT_GT(j.o.probable_witness.ratio, 1);
  EXPECT_EQ(j.o.probable_witness.bound.probable, 0x1p-22);
  EXPECT_EQ(j.lse.investigate, 0U);
  EXPECT_EQ(j.lse.probable_witness.ratio, -1);  // it has none
  EXPECT_EQ(ErrorStats::deserialize(j.o.serialize()).serialize(), j.o.serialize());
}

TEST(LeastBound, is_the_bound_that_just_accepts) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2}) {
    EXPECT_TRUE(rc::check(std::string(info(format).name), [format](std::uint64_t draw) {
      const FormatInfo& f = info(format);
      const std::uint64_t magnitudes = std::uint64_t{1} << (f.bits - 1);
      const double value = decode(format, draw % magnitudes);
      RC_PRE(class_of(value) == kFinite && std::fabs(value) < f.max_finite / 2);
      const double computed = (draw >> 40 & 1) != 0 ? -value : value;
      const double step = ulp(format, computed);
      const double steps[] = {0, 0.25, 0.5, 0.75, 1, 3.3, -0.25, -0.5, -1, -7.7, -0.2500001, 0.5000001};
      const Ball truth{computed + step * steps[draw >> 45 & 7] * ((draw >> 50 & 1) != 0 ? 1 : 0.37), 0, 0};
      const double least = least_bound(format, computed, truth);
      const double margin = 0x1p-40 * (std::fabs(computed) + step);
      RC_ASSERT(side(acceptance(format, Overflow::ieee, truth, least + margin), computed) == Side::inside);
      if (least > 2 * margin) {
        RC_ASSERT(side(acceptance(format, Overflow::ieee, truth, least - margin), computed) == Side::outside);
      }
    }));
  }
}

}  // namespace
}  // namespace flashproof
