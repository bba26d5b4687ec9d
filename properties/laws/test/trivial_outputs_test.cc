// Outputs that the law which claims truth, within_bound, must not believe, on plain data: all zeros, uniform weights (the
// mean of V), one key (or state) left out, lse off by ln 2 either way, two rows or two heads swapped. Each is made from a hardened kernel, so that everything else about it
// is right. The lists of keys make the case large enough for every one of them to be wrong somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "properties/laws/teeth_cases.h"

namespace flashproof {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// Uniform weights over what a row sees.
void flatten(SoftmaxProblem& p) {
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) p.x.set({r, c}, 0);
  }
}

void flatten(MergeProblem& p) {
  for (std::int64_t s = 0; s < p.lse.shape[0]; ++s) {
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) p.lse.set({s, r}, 0);
  }
}

void flatten(AttentionProblem& p) {
  p.q = Tensor::dense(p.q.format, p.q.shape);
  std::ranges::fill(p.q.storage, std::byte{0});  // a scale of 0 is not for every kernel
  p.bias = Tensor{};
}

/// The first key (column, state) is never seen.
void drop_first(SoftmaxProblem& p) {
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) p.x.set({r, 0}, kHidden);
}

void drop_first(MergeProblem& p) {
  for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) p.lse.set({0, r}, kHidden);
}

void drop_first(AttentionProblem& p) {
  const std::int64_t batch = p.batch(), heads = p.q_heads(), queries = p.q_length(), keys = p.k_length();
  Tensor bias = Tensor::dense(Format::f32, {batch, heads, queries, keys});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < queries; ++i) {
        for (std::int64_t j = 0; j < keys; ++j) {
          bias.set({b, h, i, j}, j == 0 ? kHidden : p.has_bias() ? p.bias.at({b, h, i, j}) : 0.0);
        }
      }
    }
  }
  p.bias = std::move(bias);
}

Output changed_problem(const Kernel& kernel, Problem problem, const std::function<void(Problem&)>& change) {
  change(problem);
  return run(kernel, problem);
}

Output zeros(Output output) {
  for (std::int64_t i = 0; i < output.o.elements(); ++i) output.o.set_bits(i, 0);
  return output;
}

Output shifted_lse(Output output, double shift) {
  for (std::int64_t r = 0; r < output.lse.elements(); ++r) output.lse.set({r}, output.lse.at({r}) + shift);
  return output;
}

/// Row 0 and row `last`; with a whole head's rows between them, the first rows of two heads.
Output swapped_rows(Output output, const Truth& truth, std::int64_t last) {
  const auto swap = [](Tensor& tensor, std::int64_t a, std::int64_t b) {
    const std::uint64_t bits = tensor.bits(a);
    tensor.set_bits(a, tensor.bits(b));
    tensor.set_bits(b, bits);
  };
  for (std::int64_t c = 0; c < truth.width; ++c) swap(output.o, c, last * truth.width + c);
  swap(output.lse, 0, last);
  return output;
}

bool rejected(const Kernel& kernel, TeethCase& c, const Output& output) {
  return judge_output(kernel, c, output).front().failed();
}

void expect_teeth(const std::string& line) {
  TeethCase c(make_case(parse_case_spec(line)));
  ASSERT_EQ(judging_laws().front().name, "within_bound");
  const std::int64_t rows = c.truth.oracle().truth().rows;
  ASSERT_GT(rows, 3) << line;
  const double ln2 = 0x1.62e42fefa39efp-1;
  int tried = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form != Form::hardened || !takes(kernel, c.content.problem)) continue;
    ++tried;
    const Output right = run(kernel, c.content.problem);
    ASSERT_FALSE(rejected(kernel, c, right)) << kernel.id << " " << line;
    const auto flat = [](Problem& p) { visit_forward([](auto& q) { flatten(q); }, p); };
    const auto drop = [](Problem& p) { visit_forward([](auto& q) { drop_first(q); }, p); };
    const std::pair<const char*, Output> wrong[] = {
        {"all zeros", zeros(right)},
        {"uniform weights", changed_problem(kernel, c.content.problem, flat)},
        {"one key dropped", changed_problem(kernel, c.content.problem, drop)},
        {"lse + ln 2", shifted_lse(right, ln2)},
        {"lse - ln 2", shifted_lse(right, -ln2)},
        {"rows swapped", swapped_rows(right, c.truth.oracle().truth(), rows - 1)},
        {"heads swapped", swapped_rows(right, c.truth.oracle().truth(), rows / 2)},
    };
    for (const auto& [name, output] : wrong) {
      EXPECT_TRUE(rejected(kernel, c, output)) << name << " passes as " << kernel.id << " on " << line;
      // The weights alone must show too, without the help of lse.
      Output same_lse = output;
      same_lse.lse = right.lse;
      if (same_lse.o.storage != right.o.storage) {
        EXPECT_TRUE(rejected(kernel, c, same_lse)) << name << " (o only) passes as " << kernel.id << " on " << line;
      }
    }
  }
  EXPECT_GT(tried, 0) << line << ": no hardened kernel took this case";
}

TEST(TrivialOutputs, Softmax) {
  for (const char* format : {"f32", "f16", "bf16"}) {
    expect_teeth(std::string("softmax:normal:1:rows=8,cols=48,format=") + format);
  }
}

TEST(TrivialOutputs, Merge) {
  for (const char* format : {"f32", "f16", "bf16"}) {
    expect_teeth(std::string("merge:normal:1:rows=8,n=3,dv=16,form=sum,format=") + format);
    expect_teeth(std::string("merge:normal:1:rows=8,n=3,dv=16,form=concat,format=") + format);
  }
}

TEST(TrivialOutputs, Attention) {
  for (const char* format : {"f32", "f16", "bf16"}) {
    expect_teeth(std::string("attention:normal:1:b=1,hq=2,hk=2,sq=8,sk=32,d=32,dv=16,scale=0.3,format=") + format);
  }
}

}  // namespace
}  // namespace flashproof
