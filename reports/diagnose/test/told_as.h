// Test helpers: kernels by what they compute, cases for them, and what is told of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "properties/generators/family.h"
#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/diagnosed_kernel.h"

namespace flashproof {

inline std::vector<CaseSpec> specs(std::initializer_list<const char*> lines) {
  std::vector<CaseSpec> list;
  for (const char* line : lines) list.push_back(parse_case_spec(line));
  return list;
}

/// The one certain cause, and nothing of arithmetic beside it.
inline void expect_told_as(const Kernel& kernel, const std::vector<CaseSpec>& cases, std::string_view id) {
  const std::vector<Cause> causes = diagnose(kernel, cases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, id) << causes[0].sentence;
  EXPECT_TRUE(causes[0].confident);
  EXPECT_EQ(causes[0].cases, causes[0].failing_cases);
  EXPECT_FALSE(causes[0].witness.empty());
  EXPECT_EQ(causes.size(), 1U) << causes.back().sentence;
}

/// A softmax that adds up its weights one after another in f16, and divides in f32.
inline Output summed_in_f16(const Problem& problem) {
  const auto& p = std::get<SoftmaxProblem>(problem);
  Output output = output_like(problem);
  for (std::int64_t row = 0; row < p.x.shape[0]; ++row) {
    std::vector<double> weights;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) most = std::max(most, p.x.at({row, c}));
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
      weights.push_back(std::exp(p.x.at({row, c}) - most));
      sum = decode(Format::f16, encode(Format::f16, sum + weights.back()));
    }
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
      const double o = weights[static_cast<std::size_t>(c)] / sum;
      output.o.set_bits(row * p.x.shape[1] + c, encode(Format::f32, o));
    }
    output.lse.set_bits(row, encode(Format::f32, most + std::log(sum)));
  }
  return output;
}

inline std::vector<CaseSpec> softmax_cases() {
  std::vector<CaseSpec> cases;
  for (const char* family : {"normal", "sizes", "logit_spread", "ramp"}) {
    for (const char* seed : {"1", "2", "3", "4"})
      cases.push_back(parse_case_spec(std::string("softmax:") + family + ":" + seed + ":format=f32"));
  }
  return cases;
}

}  // namespace flashproof
