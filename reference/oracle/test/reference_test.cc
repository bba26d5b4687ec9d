// reference<Real> in four number types against the certified balls, each within its own derived error.
#include "reference/oracle/test/reference.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/mpfr.hpp>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

namespace mp = boost::multiprecision;

template <class T>
struct Type;
template <>
struct Type<double> {
  static constexpr double kFunctions = 2.0;  // glibc documents exp and log below 1 ulp = 2u
};
template <>
struct Type<mp::mpfr_float_50> {
  static constexpr double kFunctions = 1.0;  // MPFR rounds correctly
};
template <>
struct Type<mp::mpfr_float_100> {
  static constexpr double kFunctions = 1.0;
};
template <>
struct Type<mp::cpp_bin_float_50> {
  static constexpr double kFunctions = 32.0;  // no documented bound; Boost's own tests accept tens of epsilon
};

template <class Real>
void expect_near(const Real& computed, const Ball& truth, const Real& error, std::uint64_t seed, std::size_t index) {
  using std::fabs;
  if (truth.classes != kFinite) {
    EXPECT_EQ(truth.classes, kNegInf) << seed << ' ' << index;
    EXPECT_EQ(computed, Real(-std::numeric_limits<double>::infinity())) << seed << ' ' << index;
    return;
  }
  const Real difference = (computed - Real(truth.hi)) - Real(truth.lo);
  EXPECT_LE(fabs(difference), error + Real(truth.radius)) << seed << ' ' << index;
}

template <class Real>
class ReferenceIn : public testing::Test {};
using Types = testing::Types<double, mp::mpfr_float_50, mp::mpfr_float_100, mp::cpp_bin_float_50>;
struct TypeNames {
  template <class>
  static std::string GetName(int i) {
    constexpr const char* kNames[] = {"double", "mpfr_50", "mpfr_100", "cpp_bin_float_50"};
    return kNames[i];
  }
};
TYPED_TEST_SUITE(ReferenceIn, Types, TypeNames);

TYPED_TEST(ReferenceIn, AgreesWithTheOracleOnRandomProblems) {
  using Real = TypeParam;
  const Real u = std::numeric_limits<Real>::epsilon();  // 2^(1−p): twice the unit roundoff
  std::size_t elements = 0;
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    const Problem problem = test::random_problem(seed);
    const Truth truth = compute_truth(problem);
    const auto result = visit_forward([](const auto& p) { return reference<Real>(p); }, problem);
    const auto error = test::reference_error<Real>(problem, u, Type<Real>::kFunctions);
    ASSERT_TRUE(error.meaningful);
    ASSERT_EQ(result.o.size(), truth.o.size());
    ASSERT_EQ(result.lse.size(), truth.lse.size());
    for (std::size_t i = 0; i < truth.o.size(); ++i) expect_near(result.o[i], truth.o[i], error.o, seed, i);
    for (std::size_t i = 0; i < truth.lse.size(); ++i) expect_near(result.lse[i], truth.lse[i], error.lse, seed, i);
    elements += truth.o.size();
    if (this->HasFailure()) return;
  }
  EXPECT_GT(elements, 4000U);
}

TYPED_TEST(ReferenceIn, AgreesWithTheOracleInEveryFormat) {
  using Real = TypeParam;
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    Random random(9, static_cast<std::uint64_t>(format));
    const auto draw = [&] { return random.normal(); };
    const Problem problem = test::attention(format, {.q_heads = 4, .k_heads = 2}, draw, draw, draw, true);
    const Truth truth = compute_truth(problem);
    const auto result = visit_forward([](const auto& p) { return reference<Real>(p); }, problem);
    const auto error =
        test::reference_error<Real>(problem, std::numeric_limits<Real>::epsilon(), Type<Real>::kFunctions);
    for (std::size_t i = 0; i < truth.o.size(); ++i) expect_near(result.o[i], truth.o[i], error.o, 9, i);
  }
}

// A wrong reference or a wrong oracle is noticed: one input that differs by one ulp is enough.
TYPED_TEST(ReferenceIn, NoticesADifference) {
  using Real = TypeParam;
  Random random(5, 5);
  SoftmaxProblem problem = test::softmax(Format::f32, 1, 8, [&] { return random.normal(); });
  const Truth truth = compute_truth(problem);
  problem.x.set({0, 3}, std::nextafter(static_cast<float>(problem.x.at({0, 3})), 10.0F));  // one ulp of f32
  const auto result = reference<Real>(problem);
  const auto error = test::reference_error<Real>(problem, std::numeric_limits<Real>::epsilon(), Type<Real>::kFunctions);
  using std::fabs;
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    const Real difference = (result.o[i] - Real(truth.o[i].hi)) - Real(truth.o[i].lo);
    EXPECT_GT(fabs(difference), error.o + Real(truth.o[i].radius));
  }
}

}  // namespace
}  // namespace flashproof
