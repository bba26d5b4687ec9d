// Shrinking a gradient problem ends, keeps it valid, keeps dO beside its queries and columns, and makes a seeded fault's
// failure small.
#include <gtest/gtest.h>

#include <cmath>

#include "properties/generators/backward_case.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr int kTries = 4000;

BackwardProblem problem_of(const std::string& line) {
  return std::get<BackwardProblem>(make_gradient_case(parse_case_spec(line)).problem);
}

const char* const kLines[] = {"attention:normal:2:b=2,hq=4,hk=2,sq=5,sk=9,d=3,dv=4,format=f32",
                              "attention:window:3:format=bf16", "attention:alibi:4:format=f16", "attention:gqa:1"};

TEST(ShrinkOfGradients, every_candidate_is_valid_simpler_and_has_an_ideal_forward) {
  int candidates = 0;
  for (const char* line : kLines) {
    const BackwardProblem whole = problem_of(line);
    const Complexity before = complexity(whole);
    for_each_simpler(whole, [&](const Problem& candidate) {
      const auto& simpler = std::get<BackwardProblem>(candidate);
      EXPECT_NO_THROW(validate(simpler)) << line;
      EXPECT_LT(complexity(simpler), before) << line;
      EXPECT_EQ(simpler.mode, whole.mode);
      BackwardProblem ideal = simpler;
      ideal.o = {};
      store_ideal_forward(ideal);
      EXPECT_EQ(dense_bytes(ideal.o), dense_bytes(simpler.o)) << line;
      EXPECT_EQ(ideal.lse, simpler.lse) << line;
      return ++candidates % 60 != 0;
    });
  }
  EXPECT_GT(candidates, 100);
}

TEST(ShrinkOfGradients, ends_where_everything_fails) {
  for (const char* line : kLines) {
    const Problem least = minimise(problem_of(line), [](const Problem&) { return true; }, kTries);
    EXPECT_LE(complexity(least).elements, 4U) << line << ": " << brief(least);  // q, k, v and dO
    EXPECT_EQ(complexity(least).nonzero, 0U) << line;
  }
}

TEST(ShrinkOfGradients, nothing_is_asked_after_a_stop) {
  const BackwardProblem whole = problem_of(kLines[0]);
  int asked = 0;
  const auto fails = [&](const Problem&) { return ++asked > 0; };
  const Problem least = minimise(whole, fails, kTries, [&] { return asked == 3; });
  EXPECT_EQ(asked, 3);
  EXPECT_LT(complexity(least), complexity(whole)) << "what was found by then stays";
}

// Every q says which row it is of, every v which column: dO says both. A candidate that took another row's dO would be caught.
TEST(ShrinkOfGradients, rows_and_columns_of_d_out_stay_with_theirs) {
  BackwardProblem whole = problem_of("attention:normal:2:b=2,hq=4,hk=2,sq=5,sk=9,d=1,dv=4,format=f32,layout=dense");
  const std::int64_t width = whole.forward.value_dim();
  whole.d_out = Tensor::dense(Format::f32, whole.d_out.shape);
  for (std::int64_t n = 0; n < whole.d_out.elements(); ++n) {
    whole.d_out.set_bits(n, encode(Format::f32, static_cast<double>((n / width * 10) + n % width + 1)));
  }
  for (std::int64_t r = 0; r < whole.forward.q.elements(); ++r)
    whole.forward.q.set_bits(r, encode(Format::f32, static_cast<double>(r + 1)));
  for (std::int64_t n = 0; n < whole.forward.v.elements(); ++n)
    whole.forward.v.set_bits(n, encode(Format::f32, static_cast<double>(n % width + 1)));
  int compared = 0;
  for_each_simpler(whole, [&](const Problem& candidate) {
    const auto& p = std::get<BackwardProblem>(candidate);
    if (p.forward.q == whole.forward.q && p.d_out.shape == whole.d_out.shape) return true;  // other parts, or numbers
    const Tensor &q = p.forward.q, &v = p.forward.v;
    if (p.forward.q.elements() == whole.forward.q.elements() && v.elements() == whole.forward.v.elements()) return true;
    for (std::int64_t b = 0; b < q.shape[0]; ++b) {
      for (std::int64_t h = 0; h < q.shape[1]; ++h) {
        for (std::int64_t i = 0; i < q.shape[2]; ++i) {
          for (std::int64_t c = 0; c < p.d_out.shape[3]; ++c) {
            EXPECT_EQ(p.d_out.at({b, h, i, c}), (q.at({b, h, i, 0}) - 1) * 10 + v.at({0, 0, 0, c}));
            ++compared;
          }
        }
      }
    }
    return true;
  });
  EXPECT_GT(compared, 500);
}

TEST(ShrinkOfGradients, finds_one_large_number_of_d_out) {
  const auto fails = [](const Problem& problem) {
    const auto& p = std::get<BackwardProblem>(problem);
    for (std::int64_t n = 0; n < p.d_out.shape[2]; ++n) {
      if (p.d_out.at({0, 0, n, 0}) > 1) return true;
    }
    return false;
  };
  BackwardProblem whole;
  for (int seed = 0; seed < 20; ++seed) {
    whole = problem_of("attention:normal:" + std::to_string(seed) + ":sq=7,sk=20,d=5,dv=3,format=f32");
    if (fails(whole)) break;
  }
  ASSERT_TRUE(fails(whole));
  const auto least = std::get<BackwardProblem>(minimise(whole, fails, kTries));
  EXPECT_EQ(least.d_out.elements(), 1) << brief(least);
  EXPECT_TRUE(fails(least));
  EXPECT_LE(complexity(least).significant, 1U) << brief(least);
}

}  // namespace
}  // namespace flashproof
