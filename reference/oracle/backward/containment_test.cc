// Every ball of both tiers contains the gradient computed with 300 digits.
#include <gtest/gtest.h>

#include <cstdio>

#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/backward/containment.h"
#include "reference/oracle/backward/tiers.h"

namespace flashproof {
namespace {

using test::Contained;
using test::contained;

constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};

struct All {
  Contained dq, dk, dv;
  Contained together() const {
    Contained sum = dq;
    sum += dk;
    sum += dv;
    return sum;
  }
};

template <class Triple>
All check(const Triple& balls, const test::TextbookGradients<test::Fine>& exact, double shrink = 1) {
  return {contained(balls.dq, exact.dq, exact.dq_size, shrink), contained(balls.dk, exact.dk, exact.dk_size, shrink),
          contained(balls.dv, exact.dv, exact.dv_size, shrink)};
}

/// The exact tier alone at one precision.
backward::Fp64Gradients exact_balls(const backward::View& view, int bits) {
  const auto rows = backward::exact_rows(view);
  backward::Fp64Gradients result{Balls(view.problem.query_rows() * view.d), Balls(view.problem.key_rows() * view.d),
                                 Balls(view.problem.key_rows() * view.dv)};
  for (std::int64_t r = 0; r < view.problem.query_rows(); ++r) {
    const std::vector<Ball> row = rows->query_row(r, bits);
    for (std::int64_t c = 0; c < view.d; ++c) result.dq.set(r * view.d + c, row[c]);
  }
  for (std::int64_t r = 0; r < view.problem.key_rows(); ++r) {
    const std::vector<Ball> row = rows->key_row(r, bits);
    for (std::int64_t c = 0; c < view.d; ++c) result.dk.set(r * view.d + c, row[c]);
    for (std::int64_t c = 0; c < view.dv; ++c) result.dv.set(r * view.dv + c, row[view.d + c]);
  }
  return result;
}

void expect_contained(const Contained& tally, const char* what) {
  EXPECT_GT(tally.elements, 0) << what;
  EXPECT_EQ(tally.outside, 0) << what;
  EXPECT_EQ(tally.wrong_class, 0) << what;
}

void run(const BackwardProblem& problem, const std::string& what, Contained& fast, Contained& exact, Contained& truth) {
  validate(problem);
  const auto reference = test::textbook_gradients<test::Fine>(problem);
  const backward::View view(problem);
  const Contained of_fast = check(backward::fp64_gradients(view), reference).together();
  const Contained of_exact = check(exact_balls(view, 128), reference).together();
  const Contained of_truth = check(backward_truth(problem, Format::f32), reference).together();
  expect_contained(of_fast, what.c_str());
  expect_contained(of_exact, what.c_str());
  expect_contained(of_truth, what.c_str());
  EXPECT_EQ(of_truth.unbounded, 0) << what;
  fast += of_fast;
  exact += of_exact;
  truth += of_truth;
}

TEST(BackwardContainment, every_ball_of_random_problems_holds_the_300_digit_gradient) {
  Contained fast, exact, truth;
  for (int n = 0; n < 40; ++n) {
    Random random(11, static_cast<std::uint64_t>(n));
    run(test::random_backward(random, kFormats[n % 3]), "random " + std::to_string(n), fast, exact, truth);
  }
  std::printf(
      "[ balls    ] fp64 %lld, closest %.3f of its radius, %lld without; exact at 128 bits %lld, closest %.3f\n",
      static_cast<long long>(fast.elements), fast.closest, static_cast<long long>(fast.unbounded),
      static_cast<long long>(exact.elements), exact.closest);
  EXPECT_LT(fast.unbounded, fast.elements / 20);
}

TEST(BackwardContainment, every_ball_of_hard_problems_holds_the_300_digit_gradient) {
  for (const test::BackwardKind& kind : test::hard_backward_kinds()) {
    Contained fast, exact, truth;
    for (int n = 0; n < 6; ++n) {
      Random random(12, static_cast<std::uint64_t>(n));
      run(kind.make(random, kFormats[n % 3]), kind.name, fast, exact, truth);
    }
    std::printf("[ balls    ] %-24s fp64 %lld, closest %.3f, %lld without; truth beyond a double: %lld\n",
                kind.name.c_str(), static_cast<long long>(fast.elements), fast.closest,
                static_cast<long long>(fast.unbounded), static_cast<long long>(truth.elements - truth.finite));
  }
}

TEST(BackwardContainment, a_radius_a_thousand_times_smaller_is_caught) {
  Contained shrunk;
  for (int n = 0; n < 10; ++n) {
    Random random(13, static_cast<std::uint64_t>(n));
    const BackwardProblem problem = test::random_backward(random, Format::f32);
    const auto reference = test::textbook_gradients<test::Fine>(problem);
    shrunk += check(backward::fp64_gradients(backward::View(problem)), reference, 1e-3).together();
  }
  EXPECT_GT(shrunk.outside, shrunk.finite / 50);
}

TEST(BackwardContainment, cancellation_sends_rows_to_the_exact_tier_and_the_truth_is_narrow) {
  int climbed = 0;
  for (const test::BackwardKind& kind : test::hard_backward_kinds()) {
    Random random(14, 1);
    const BackwardProblem problem = kind.make(random, Format::f32);
    const Truth truth = backward_truth(problem, Format::f32);
    EXPECT_EQ(truth.inconclusive, 0) << kind.name;
    climbed += truth.exact_rows > 0 ? 1 : 0;
    for (const Balls* balls : {&truth.dq, &truth.dk, &truth.dv}) {
      for (std::size_t n = 0; n < balls->size(); ++n) EXPECT_TRUE(narrow_enough((*balls)[n], Format::f32)) << kind.name;
    }
  }
  EXPECT_GE(climbed, 3);
}

}  // namespace
}  // namespace flashproof
