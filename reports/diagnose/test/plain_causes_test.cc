// Outputs that are one number everywhere, and exponentials without a maximum: named, and nothing else taken for them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/diagnosed_kernel.h"
#include "reports/diagnose/row_look.h"
#include "reports/diagnose/terms.h"
#include "reports/diagnose/test/told_as.h"

namespace flashproof {
namespace {

const std::vector<CaseSpec> kOrdinary = softmax_cases();
/// Rows of largest scores 80, 88.5, 91, 100.9, 104, 114.6, 128, 217, 1000.5, and ordinary ones.
const std::vector<CaseSpec> kBeyond = specs(
    {"softmax:near_ties:1:format=f32", "softmax:near_ties:4:format=f32", "softmax:near_ties:5:format=f32",
     "softmax:offset_rising:1:format=f32", "softmax:offset_rising:4:format=f32", "softmax:edge_floats:3:format=f32",
     "softmax:overflow_edge:0:format=f32", "softmax:staircase:0:format=f32", "softmax:staircase:5:format=f32",
     "softmax:staircase:6:format=f32", "softmax:normal:1:format=f32", "softmax:ramp:1:format=f32"});

/// The exact function, and what `change` makes of it.
Kernel changed(std::function<void(const SoftmaxProblem&, Output&)> change) {
  return kernel_that("softmax.safe.hardened", [change](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    change(std::get<SoftmaxProblem>(problem), output);
    return output;
  });
}

void fill(Tensor& tensor, float value) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_bits(i, encode(tensor.format, value));
}

/// As a softmax in f32 computes it that subtracts `offset` of the largest score.
void compute_row(const SoftmaxProblem& p, std::int64_t row, float offset, Output& output) {
  float sum = 0;
  std::vector<float> weights;
  for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
    weights.push_back(std::exp(static_cast<float>(p.x.at({row, c})) - offset));
    sum += weights.back();
  }
  for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
    const float o = weights[static_cast<std::size_t>(c)] / sum;
    output.o.set_bits(row * p.x.shape[1] + c, encode(output.o.format, o));
  }
  output.lse.set_bits(row, encode(output.lse.format, offset + std::log(sum)));
}

double largest(const SoftmaxProblem& p, std::int64_t row) {
  double most = p.x.at({row, 0});
  for (std::int64_t c = 1; c < p.x.shape[1]; ++c) most = std::max(most, p.x.at({row, c}));
  return most;
}

/// NaN in the rows of which `fails` says so, of their largest score.
Kernel nan_where(std::function<bool(double)> fails) {
  return changed([fails](const SoftmaxProblem& p, Output& output) {
    for (std::int64_t row = 0; row < p.x.shape[0]; ++row) {
      if (!fails(largest(p, row))) continue;
      for (std::int64_t c = 0; c < p.x.shape[1]; ++c)
        output.o.set_bits(row * p.x.shape[1] + c, encode(output.o.format, std::nan("")));
    }
  });
}

/// Scores of either sign of the scale, spread over less than 30, over 30 to 88, and over more.
const std::vector<CaseSpec> kScales =
    specs({"attention:normal:1:format=f32,scale=-0.5", "attention:normal:2:format=f32,scale=-1",
           "attention:normal:3:format=f32,scale=-4", "attention:normal:4:format=f32,scale=-8",
           "attention:normal:5:format=f32,scale=-20", "attention:normal:6:format=f32,scale=-40",
           "attention:normal:7:format=f32,scale=0.5", "attention:normal:8:format=f32,scale=4",
           "attention:normal:9:format=f32,scale=20", "attention:normal:10:format=f32,scale=40"});

/// The exact attention, and NaN in the rows of which `fails` says so, of the scale and of how far the scores are spread.
Kernel nan_where_scaled(std::function<bool(double, double)> fails) {
  return kernel_that("attention.online_element.hardened", [fails](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    const auto& p = std::get<AttentionProblem>(problem);
    const Kernel& kernel = *find_kernel("attention.online_element.hardened");
    for (std::int64_t row = 0; row < output.lse.elements(); ++row) {
      const RowLook look = look_at(row_terms(problem, kernel.arithmetic, row));
      if (look.visible == 0 || !fails(p.scale, static_cast<double>(look.most - look.least))) continue;
      for (std::int64_t c = 0; c < p.value_dim(); ++c)
        output.o.set_bits(row * p.value_dim() + c, encode(output.o.format, std::nan("")));
    }
    return output;
  });
}

bool tells(const Kernel& kernel, const std::vector<CaseSpec>& cases, std::string_view id) {
  const std::vector<Cause> causes = diagnose(kernel, cases, {}, Executor::cpu);
  return std::ranges::any_of(causes, [&](const Cause& cause) { return cause.id == id && cause.confident; });
}

TEST(ConstantCauses, an_output_of_one_number_is_named_with_it) {
  expect_told_as(changed([](const SoftmaxProblem&, Output& output) { fill(output.o, 0); }), kOrdinary, "constant.o");
  expect_told_as(changed([](const SoftmaxProblem&, Output& output) { fill(output.lse, 3); }), kOrdinary,
                 "constant.lse");
  const Kernel both = changed([](const SoftmaxProblem&, Output& output) { fill(output.o, 0), fill(output.lse, 1); });
  expect_told_as(both, kOrdinary, "constant.o+lse");
  EXPECT_EQ(diagnose(both, kOrdinary, {}, Executor::cpu)[0].sentence,
            "o is 0 in every element, lse is 1 in every element, whatever the input");
}

TEST(ConstantCauses, another_number_anywhere_is_no_constant) {
  const Kernel all_but_one = changed([](const SoftmaxProblem& p, Output& output) {
    if (p.x.shape[1] != 1) fill(output.o, 0);
  });
  std::vector<CaseSpec> cases = kOrdinary;
  cases.push_back(parse_case_spec("softmax:normal:9:format=f32,rows=3,cols=1"));
  EXPECT_FALSE(tells(all_but_one, cases, "constant.o"));
  const Kernel unwritten = changed([](const SoftmaxProblem& p, Output& output) { output = output_like(Problem(p)); });
  EXPECT_FALSE(tells(unwritten, kOrdinary, "constant.o+lse"));
}

TEST(OverflowCauses, a_softmax_without_a_maximum_is_named) {
  const Kernel naive = changed([](const SoftmaxProblem& p, Output& output) {
    for (std::int64_t row = 0; row < p.x.shape[0]; ++row) compute_row(p, row, 0, output);
  });
  EXPECT_TRUE(tells(naive, kBeyond, "exponent.no_maximum"));
}

TEST(OverflowCauses, a_maximum_before_a_negative_scale_is_named) {
  constexpr std::string_view kId = "exponent.least_subtracted";
  EXPECT_TRUE(
      tells(nan_where_scaled([](double scale, double spread) { return scale < 0 && spread > 88.723; }), kScales, kId));
  EXPECT_FALSE(tells(nan_where_scaled([](double, double spread) { return spread > 88.723; }), kScales, kId));
  EXPECT_FALSE(tells(nan_where_scaled([](double scale, double) { return scale < 0; }), kScales, kId));
  EXPECT_FALSE(
      tells(nan_where_scaled([](double scale, double spread) { return scale < 0 && spread > 30; }), kScales, kId));
  EXPECT_FALSE(
      tells(nan_where_scaled([](double scale, double spread) { return scale > 0 && spread > 88.723; }), kScales, kId));
}

TEST(OverflowCauses, other_limits_and_rows_that_pass_beyond_are_something_else) {
  EXPECT_TRUE(tells(nan_where([](double most) { return most > 88.7228; }), kBeyond, "exponent.no_maximum"));
  EXPECT_FALSE(tells(nan_where([](double most) { return most > 60; }), kBeyond, "exponent.no_maximum"));
  EXPECT_FALSE(tells(nan_where([](double most) { return most > 110; }), kBeyond, "exponent.no_maximum"));
  EXPECT_FALSE(tells(nan_where([](double most) { return std::fmod(std::floor(most), 2) == 0; }), kBeyond,
                     "exponent.no_maximum"));
}

TEST(OverflowCauses, an_lse_alone_that_overflows_is_something_else) {
  const Kernel kernel = changed([](const SoftmaxProblem& p, Output& output) {
    for (std::int64_t row = 0; row < p.x.shape[0]; ++row)
      if (largest(p, row) > 88.7228)
        output.lse.set_bits(row, encode(Format::f32, std::numeric_limits<double>::infinity()));
  });
  EXPECT_FALSE(tells(kernel, kBeyond, "exponent.no_maximum"));
}

TEST(OverflowCauses, wrong_numbers_beyond_are_something_else) {
  const Kernel scaled = changed([](const SoftmaxProblem& p, Output& output) {
    for (std::int64_t row = 0; row < p.x.shape[0]; ++row) {
      if (largest(p, row) < 88.8) continue;
      for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
        const std::int64_t at = row * p.x.shape[1] + c;
        output.o.set_bits(at, encode(output.o.format, 0.75 * decode(output.o.format, output.o.bits(at))));
      }
    }
  });
  EXPECT_FALSE(tells(scaled, kBeyond, "exponent.no_maximum"));
}

}  // namespace
}  // namespace flashproof
