// What the proofs stand on, taken away: round to nearest, subnormals, the order of operations. Each must be noticed by the
// containment check, or refused before any number is computed. The guards themselves: environment_guard_test.cc; radius
// terms and the exactness certificate: fp64/*_worst_test.cc, fp64/test/attention_reach_test.cc,
// double_double/double_double_worst_test.cc; spoiled balls: containment_test.cc.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "reference/oracle/arithmetic_control.h"
#include "reference/oracle/double_double/dd.h"
#include "reference/oracle/double_double/dd_exp.h"
#include "reference/oracle/double_double/decoded_head.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/test/containment.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/tiers.h"
#include "reference/system/error.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace flashproof {
namespace {

using containment::Case;
using containment::Way;

/// Rounding upward from here to the end of the scope.
struct Upward {
  Upward() { std::fesetround(FE_UPWARD); }
  ~Upward() { std::fesetround(FE_TONEAREST); }
};

AttentionProblem usual_problem(std::uint64_t seed, Format format = Format::f32) {
  Random random(seed, 950);
  return test::attention(format, {.sq = 8, .sk = 40, .d = 16, .dv = 16}, test::normal(random), test::normal(random),
                         test::normal(random));
}

/// One head, one chunk and one block of rows, without special values, masks or a second pass: what run_head does with
/// them, but for its guards.
struct UnguardedAttention {
  const AttentionProblem& problem;
  std::int64_t padded, rows;
  attention64::Buffer packed, vectors;
  attention64::Chunk chunk;
  attention64::Scratch scratch;
  std::vector<attention64::RowState> states;
  attention64::RowBlock block;
  std::vector<attention64::RowState*> pointers;

  explicit UnguardedAttention(const AttentionProblem& of)
      : problem(of), padded(attention64::round_up(of.value_dim(), attention64::kPanel)), rows(of.q_length()) {
    chunk.count = problem.k_length();
    chunk.capacity = attention64::round_up(chunk.count, attention64::kTerms);
    chunk.place(packed.grow(attention64::Chunk::doubles(chunk.capacity, problem.head_dim(), padded)),
                problem.head_dim(), padded);
    scratch.prepare(chunk.capacity, problem.head_dim(), padded);
    double* const storage = vectors.grow(rows * 3 * padded);
    std::fill(storage, storage + rows * 3 * padded, 0.0);
    states.resize(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r) {
      attention64::RowState& state = states[static_cast<std::size_t>(r)];
      state.place = r;
      state.row = {.sequence = 0, .head = 0, .query = r};
      state.visible = {0, chunk.count};
      state.o = storage + r * 3 * padded;
      state.radius = state.o + padded;
      state.star = state.radius + padded;
      pointers.push_back(&state);
    }
    block.rows = pointers.data();
    block.count = rows;
  }
  void decode() {
    attention64::pack_chunk(problem, 0, 0, chunk, scratch);
    attention64::load_queries(problem, block, scratch);
  }
  Truth run() {
    decode();
    const AttentionOptions options;
    attention64::add_chunk(problem, options, chunk, block, scratch);
    Truth truth = Truth::sized(rows, problem.value_dim(), Tier::fp64);
    for (const attention64::RowState& state : states) {
      Ball lse;
      RowCause cause;
      finish_row(state, truth.width, options.terms, truth.o.hi() + state.place * truth.width,
                 truth.o.radius() + state.place * truth.width, lse, cause);
      truth.lse.set(static_cast<std::size_t>(state.place), lse);
    }
    return truth;
  }
};

TEST(NegativeControl, UpwardRoundingBreaksFp64Attention) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2";
  std::int64_t violations = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const AttentionProblem problem = usual_problem(seed);
    const Case judged{Problem(problem)};
    ASSERT_EQ(judged.judge(UnguardedAttention(problem).run()).wrong(), 0);  // the harness is right
    const Truth wrong = [&] {
      const Upward upward;
      return UnguardedAttention(problem).run();
    }();
    violations += judged.judge(wrong).wrong();
  }
  EXPECT_GT(violations, 0);
}

TEST(NegativeControl, UpwardRoundingBreaksTheDoubleDoubleTier) {
  std::int64_t violations = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Case judged{Problem(usual_problem(seed))};
    if (!judged.takes(Way::dd)) GTEST_SKIP() << "no AVX2";
    ASSERT_EQ(judged.judge(Way::dd).wrong(), 0);
    const Truth wrong = [&] {
      const Upward upward;
      return compute(judged.problem(), Way::dd);
    }();
    violations += judged.judge(wrong).wrong();
  }
  EXPECT_GT(violations, 0);
}

TEST(NegativeControl, UpwardRoundingBreaksExp) {
  // Rounded up, k is one too large for half of all x, and |r| reaches log 2.
  Random random(1, 951);
  int wrong = 0;
  for (int n = 0; n < 1000; ++n) {
    volatile double x = random.uniform(-700, 700);  // or the compiler may compute before it sets the mode
    volatile double value = 0;
    const DD exact = exp_dd(DD{x, 0});
    {
      const Upward upward;
      value = proven_exp(x);
    }
    if (std::fabs((value - exact.hi) - exact.lo) > kExpError * exact.hi) ++wrong;
  }
  EXPECT_GT(wrong, 100);
}

TEST(NegativeControl, TheFp64TierRefusesWhatItsProofsExclude) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2";
  const Problem problems[] = {
      test::softmax(Format::f32, 1, 3, [] { return 1.0; }),
      test::merge(Format::f32, 2, 1, 3, [] { return 1.0; }, [] { return 1.0; }, MergeForm::sum), usual_problem(1)};
  for (const Problem& problem : problems) {
    EXPECT_NO_THROW(compute(problem, Way::fp64));
    const auto upward = [&] {
      const Upward mode;
      return compute(problem, Way::fp64);
    };
    EXPECT_THROW(upward(), InfrastructureError);
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    for (const unsigned flag : {0x8000U, 0x0040U}) {  // FTZ, DAZ
      _mm_setcsr(before | flag);
      EXPECT_THROW(compute(problem, Way::fp64), InfrastructureError);
      _mm_setcsr(before);
    }
#endif
  }
}

#if defined(__SSE2__)
/// With FTZ and DAZ on.
template <class Body>
void without_subnormals(const Body& body) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);
  body();
  _mm_setcsr(before);
}

TEST(NegativeControl, OurDecodingKeepsSubnormalsWhateverMxcsrSays) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2";
  volatile float subnormal = 0x1p-140F;
  volatile double converted = 1.0;
  without_subnormals([&] { converted = static_cast<double>(subnormal); });
  EXPECT_TRUE(converted == 0.0);  // what the hardware makes of it

  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    Random random(2, 952);
    const int least = format == Format::f16 ? -24 : (format == Format::f32 ? -149 : -133);
    const test::Draw tiny = test::log_uniform(random, least, least + (format == Format::f32 ? 22 : 6));
    const AttentionProblem p = test::attention(format, {.sq = 8, .sk = 40, .d = 16, .dv = 16}, tiny, tiny, tiny);
    UnguardedAttention attention(p);
    DecodedHead head(p, std::int64_t{1} << 20);
    head.select(0, 0);
    std::vector<double> one_by_one(static_cast<std::size_t>(p.k.elements()));
    const double* keys = nullptr;
    const double* values = nullptr;
    without_subnormals([&] {
      attention.decode();
      keys = head.keys(0);
      values = head.values(0);
      for (std::size_t i = 0; i < one_by_one.size(); ++i) {
        one_by_one[i] = decode(format, p.k.bits(static_cast<std::int64_t>(i)));
      }
    });
    int subnormals = 0;
    for (std::int64_t j = 0; j < 40; ++j) {
      for (std::int64_t c = 0; c < 16; ++c) {
        const double k = p.k.at({0, 0, j, c}), v = p.v.at({0, 0, j, c});
        ASSERT_NE(k, 0.0);
        if (std::fabs(k) < std::ldexp(1.0, info(format).min_exponent)) ++subnormals;
        EXPECT_EQ(one_by_one[static_cast<std::size_t>(j * 16 + c)], k);
        EXPECT_EQ(attention.chunk.k[j / 16 * 16 * 16 + c * 16 + j % 16], k);
        EXPECT_EQ(attention.chunk.v[j * 16 + c], v);
        EXPECT_EQ(keys[j / kBlock * kBlock * 16 + c * kBlock + j % kBlock], k);
        EXPECT_EQ(values[c / kBlock * head.chunk_keys() * kBlock + j * kBlock + c % kBlock], v);
        if (j < 8) {
          EXPECT_EQ(attention.scratch.q[j * 16 + c], p.q.at({0, 0, j, c}));
        }
      }
    }
    EXPECT_GT(subnormals, 300);
  }
}
#endif

// Fast math: the same double-double code from one source, as it is and with the compiler free to reassociate.

struct Build {
  control::Pair (*two_sum)(double, double);
  control::Pair (*dot)(const double*, const double*, int);
  control::Pair (*exp)(double);
};
constexpr Build kIeee = {control::ieee::two_sum, control::ieee::dot, control::ieee::exp};
constexpr Build kFastMath = {control::fast_math::two_sum, control::fast_math::dot, control::fast_math::exp};

TEST(NegativeControl, FastMathBreaksTwoSum) {
  const auto lost = [](const Build& build) {
    Random random(3, 953);
    int wrong = 0;
    for (int n = 0; n < 1000; ++n) {
      const double a = random.uniform(1, 2), b = 0x1p-30 * random.uniform(1, 2);
      const DD exact = two_sum(a, b);
      const control::Pair sum = build.two_sum(a, b);
      if (sum.hi != exact.hi || sum.lo != exact.lo) ++wrong;
    }
    return wrong;
  };
  EXPECT_EQ(lost(kIeee), 0);
  EXPECT_GT(lost(kFastMath), 900);
}

TEST(NegativeControl, FastMathBreaksDoubleDoubleDots) {
  const auto violations = [](const Build& build) {
    Random random(4, 953);
    int wrong = 0;
    for (int n = 0; n < 200; ++n) {
      // 24-bit factors: the products are exact, and so is their sum as an integer of at most 62 bits.
      constexpr int kTerms = 32;
      double a[kTerms], b[kTerms];
      std::int64_t exact = 0;
      double size = 0;
      for (int i = 0; i < kTerms; ++i) {
        const std::int64_t x = random.integer(-(1 << 23), 1 << 23), y = random.integer(-(1 << 23), 1 << 23);
        const std::int64_t shift = random.integer(0, 10);
        a[i] = static_cast<double>(x << shift), b[i] = static_cast<double>(y);
        exact += (x << shift) * y;
        size += std::fabs(a[i] * b[i]);
      }
      const control::Pair sum = build.dot(a, b, kTerms);
      // Below 2^62 the two words are integers, and the difference is exact in two steps.
      const std::int64_t error = exact - static_cast<std::int64_t>(sum.hi) - static_cast<std::int64_t>(sum.lo);
      if (std::fabs(static_cast<double>(error)) > kTerms * kDdAddError * size) ++wrong;
    }
    return wrong;
  };
  EXPECT_EQ(violations(kIeee), 0);
  EXPECT_GT(violations(kFastMath), 100);
}

TEST(NegativeControl, FastMathBreaksDoubleDoubleExp) {
  const auto violations = [](const Build& build) {
    Random random(5, 953);
    int wrong = 0;
    for (int n = 0; n < 1000; ++n) {
      const double x = random.uniform(-100, 100);
      const DD exact = exp_dd(DD{x, 0});
      const control::Pair value = build.exp(x);
      const double error = std::fabs((value.hi - exact.hi) + (value.lo - exact.lo));
      if (!(error <= 2 * kDdExpError * exact.hi)) ++wrong;  // both may err
    }
    return wrong;
  };
  EXPECT_EQ(violations(kIeee), 0);
  EXPECT_GT(violations(kFastMath), 100);
}

}  // namespace
}  // namespace flashproof
