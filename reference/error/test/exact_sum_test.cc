#include "reference/error/exact_sum.h"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/error/test/rapidcheck_seed.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();

/// Every exponent equally likely (subnormals and the largest included), then possibly the negative of an earlier term
/// or one bit away from it, so that sums cancel.
std::vector<double> terms_from(const std::vector<std::uint64_t>& draws) {
  std::vector<double> terms;
  for (const std::uint64_t draw : draws) {
    if (!terms.empty() && draw % 4 == 0) {
      terms.push_back(-terms[draw / 4 % terms.size()]);
    } else if (!terms.empty() && draw % 4 == 1) {
      terms.push_back(std::nextafter(-terms[draw / 4 % terms.size()], 0.0));
    } else {
      const std::uint64_t mixed = draw * 0x9e3779b97f4a7c15;
      const std::uint64_t exponent = mixed % 2047;
      terms.push_back(std::bit_cast<double>((mixed & 0x800fffffffffffff) | exponent << 52));
    }
  }
  return terms;
}

ExactSum sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

/// 2,300 bits hold every sum of a few hundred doubles exactly: 2^1024 · 2^9 down to 2^-1074.
struct MpfrSum {
  mpfr_t value;
  explicit MpfrSum(const std::vector<double>& terms) {
    mpfr_init2(value, 2300);
    mpfr_set_zero(value, 1);
    for (const double term : terms) EXPECT_EQ(mpfr_add_d(value, value, term, MPFR_RNDN), 0) << "not exact";
  }
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;
  ~MpfrSum() { mpfr_clear(value); }
  double to_odd() const {
    const double down = mpfr_get_d(value, MPFR_RNDZ);
    const double up = mpfr_get_d(value, MPFR_RNDA);
    if (down == up) return down;
    return (std::bit_cast<std::uint64_t>(down) & 1) != 0 ? down : up;
  }
};

TEST(ExactSum, EqualsTheMpfrSumRoundedOnce) {
  EXPECT_TRUE(rc::check("value() and value_to_odd() are one rounding of the exact sum",
                        [](const std::vector<std::uint64_t>& draws) {
                          const std::vector<double> terms = terms_from(draws);
                          const ExactSum sum = sum_of(terms);
                          const MpfrSum exact(terms);
                          RC_ASSERT(sum.value() == mpfr_get_d(exact.value, MPFR_RNDN));
                          RC_ASSERT(sum.value_to_odd() == exact.to_odd());
                        }));
}

TEST(ExactSum, AnyOrderAndGroupingGivesTheSameText) {
  EXPECT_TRUE(rc::check(
      "merge is a commutative monoid", [](const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                                          const std::vector<std::uint64_t>& c) {
        const ExactSum x = sum_of(terms_from(a)), y = sum_of(terms_from(b)), z = sum_of(terms_from(c));
        const auto plus = [](ExactSum left, const ExactSum& right) {
          left.merge(right);
          return left;
        };
        const std::string all = plus(plus(x, y), z).serialize();
        RC_ASSERT(plus(x, plus(y, z)).serialize() == all);
        RC_ASSERT(plus(z, plus(y, x)).serialize() == all);
        RC_ASSERT(plus(x, ExactSum{}) == x);
        RC_ASSERT(ExactSum::deserialize(all) == plus(plus(x, y), z));
        RC_ASSERT(ExactSum::deserialize(all).serialize() == all);
      }));
}

TEST(ExactSum, RoundsWhereRoundingIsHard) {
  EXPECT_EQ(sum_of({1, 0x1p-53}).value(), 1.0);                     // tie, even below
  EXPECT_EQ(sum_of({1, 0x1p-53, 0x1p-1074}).value(), 1 + 0x1p-52);  // just above the tie
  EXPECT_EQ(sum_of({1 + 0x1p-52, 0x1p-53}).value(), 1 + 0x1p-51);   // tie, even above
  EXPECT_EQ(sum_of({1, 0x1p-1074}).value_to_odd(), 1 + 0x1p-52);    // odd neighbour
  EXPECT_EQ(sum_of({1, -0x1p-1074}).value_to_odd(), 1 - 0x1p-53);   // 0x1.fff…f is odd
  EXPECT_EQ(sum_of({kMax, 1.0, -kMax}).value(), 1.0);               // nothing is lost on the way
  EXPECT_EQ(sum_of({kMax, kMax, -kMax}).value(), kMax);             // nor beyond the range of double
  EXPECT_EQ(sum_of({kMax, kMax}).value(), kInfinity);
  EXPECT_EQ(sum_of({-kMax, -kMax}).value_to_odd(), -kMax);
  EXPECT_EQ(sum_of({kMax, 0x1p969}).value(), kMax);       // below the overflow tie 2^1024 − 2^970
  EXPECT_EQ(sum_of({kMax, 0x1p970}).value(), kInfinity);  // on it
  EXPECT_EQ(sum_of({0x1p-1074, 0x1p-1074}).value(), 0x1p-1073);
  EXPECT_EQ(sum_of({0x1p-1074, -0x1p-1074}), ExactSum{});
  EXPECT_FALSE(std::signbit(sum_of({-0.0}).value()));
}

TEST(ExactSum, NonFiniteIsAStickyNan) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    ExactSum sum = sum_of({1.0, bad, 2.0});
    EXPECT_TRUE(std::isnan(sum.value()));
    ExactSum clean = sum_of({1.0});
    clean.merge(sum);
    EXPECT_TRUE(std::isnan(clean.value()));
    EXPECT_EQ(clean.serialize(), "nan");
    EXPECT_TRUE(std::isnan(ExactSum::deserialize("nan").value()));
  }
}

TEST(ExactSum, ManyAdditionsDoNotOverflowTheCarries) {
  // Doubling by merging reaches the lazy carries' limit and passes it: 2^40 times 2^-30.
  ExactSum sum = sum_of({0x1.fffffffffffffp-30});
  for (int i = 0; i < 40; ++i) sum.merge(ExactSum(sum));
  EXPECT_EQ(sum.value(), 0x1.fffffffffffffp+10);
}

TEST(ExactSum, DeserializeTakesOnlyWhatSerializeWrites) {
  for (const char* bad : {"",
                          "-",
                          "-0",
                          "00",
                          "inf",
                          "NaN",
                          "1",
                          "1.",
                          ".00000001",
                          "1.0000001",
                          "1.00000000",
                          "1.0000000100000000",
                          "1.0000000000000001",
                          "01.00000001",
                          "1.0000000A",
                          "+1.00000001",
                          "69.0000000100000001",
                          "70.00000001",
                          "999.00000001",
                          "1.00000001 ",
                          "1.0000000g"}) {
    EXPECT_THROW(ExactSum::deserialize(bad), UsageError) << bad;
  }
  EXPECT_EQ(ExactSum::deserialize("34.00000001").value(), 1.0);
  EXPECT_EQ(ExactSum::deserialize("-34.00000003").value(), -3.0);
}

}  // namespace
}  // namespace flashproof
