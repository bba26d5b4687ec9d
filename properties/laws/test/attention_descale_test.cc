// Descale factors and keys of 8 bits in the scalar attention kernels: right beside every other feature, wrong and seen to
// be wrong without one of the factors, NaN where the scale leaves the f32 range.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "properties/laws/teeth_cases.h"
#include "reference/error/element.h"

namespace flashproof {
namespace {

using Factors = Tensor AttentionProblem::*;
constexpr Factors kFactors[] = {&AttentionProblem::q_descale, &AttentionProblem::k_descale,
                                &AttentionProblem::v_descale};

std::vector<const Kernel*> descaling_kernels() {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels()) {
    const bool both = kernel.unsupported.takes(Feature::descale) && kernel.unsupported.takes(Feature::mixed);
    if (kernel.problem == ProblemKind::attention && kernel.form != Form::broken && both) found.push_back(&kernel);
  }
  return found;
}

std::string first_format(const Kernel& kernel) { return std::string(info(kernel.formats[0]).name); }

AttentionProblem drawn(std::string_view family, std::uint64_t seed, std::map<std::string, std::string> keys) {
  return std::get<AttentionProblem>(
      make_case({ProblemKind::attention, std::string(family), seed, std::move(keys)}).problem);
}

bool finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (!std::isfinite(decode(tensor.format, tensor.bits(i)))) return false;
  }
  return true;
}

/// size, 1.25·size, 1.5·size, ... from head to head.
Tensor factors(const AttentionProblem& p, double size) {
  Tensor result = Tensor::dense(Format::f32, {p.sequences(), p.k_heads()});
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    result.set_bits(i, encode(Format::f32, size * (1 + 0.25 * static_cast<double>(i))));
  }
  return result;
}

/// k and v rounded to `format`, dense or with room after every element.
void narrow(AttentionProblem& p, Format format, bool dense) {
  for (Tensor* tensor : {&p.k, &p.v}) {
    std::vector<std::int64_t> stride = dense_stride(tensor->shape);
    if (!dense) stride = {stride[0] * 3, stride[1] * 3, stride[2] * 3, 3};
    Tensor result = Tensor::strided(format, tensor->shape, stride);
    const auto& n = tensor->shape;
    for (std::int64_t a = 0; a < n[0]; ++a) {
      for (std::int64_t b = 0; b < n[1]; ++b) {
        for (std::int64_t c = 0; c < n[2]; ++c) {
          for (std::int64_t d = 0; d < n[3]; ++d) result.set({a, b, c, d}, tensor->at({a, b, c, d}));
        }
      }
    }
    *tensor = std::move(result);
  }
}

struct Asked {
  TeethCase subject;

  explicit Asked(const AttentionProblem& p) : subject({{ProblemKind::attention, "descale", 1, {}}, p}) {}

  std::string first_failure(const Kernel& kernel, const Output& output) {
    for (const Verdict& verdict : judge_output(kernel, subject, output)) {
      if (to_string(verdict) != "pass") return std::string(to_string(verdict)) + ": " + verdict.detail;
    }
    return {};
  }
};

TEST(DescaleKernels, AreAllTheHardenedScalarOnes) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != ProblemKind::attention || kernel.form == Form::broken) continue;
    const bool expected = kernel.form == Form::hardened && !kernel.id.starts_with("attention.mma");
    EXPECT_EQ(kernel.unsupported.takes(Feature::descale), expected) << kernel.id;
    EXPECT_EQ(kernel.unsupported.takes(Feature::mixed), expected) << kernel.id;
  }
}

TEST(DescaleKernels, AreRightBesideEveryOtherFeature) {
  std::map<std::string_view, int> asked;
  constexpr Format kFormats[] = {Format::e4m3fn, Format::e5m2};
  constexpr const char* kStored[] = {"f32", "f16", "bf16"};
  for (const char* family : {"paged", "packed", "softcap", "sink", "window", "gqa"}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      AttentionProblem p = drawn(family, seed, {{"format", kStored[seed % 3]}, {"layout", "dense"}});
      p.q_descale = factors(p, 0.7);
      p.k_descale = factors(p, 0.9);
      p.v_descale = factors(p, -1.1);
      if (seed > 2) narrow(p, kFormats[seed % 2], seed % 3 != 0);
      if (!finite(p.sink)) continue;  // of such a sink no number is right
      Asked judge(p);
      for (const Kernel* kernel : descaling_kernels()) {
        if (!takes(*kernel, p)) continue;
        EXPECT_EQ(judge.first_failure(*kernel, run(*kernel, p)), "") << kernel->id << " " << family << " " << seed;
        ++asked[kernel->id];
      }
    }
  }
  for (const Kernel* kernel : descaling_kernels()) {
    EXPECT_GE(asked[kernel->id], kernel->id.starts_with("attention.paged") ? 4 : 6) << kernel->id;
  }
}

// The negative control: what a kernel makes that does not know of one of the factors.
TEST(DescaleKernels, AreSeenToIgnoreAFactor) {
  for (const Kernel* kernel : descaling_kernels()) {
    const std::string family = kernel->id.starts_with("attention.paged") ? "paged" : "normal";
    int rejected[3] = {};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      AttentionProblem p =
          drawn(family, seed, {{"format", first_format(*kernel)}, {"scale", "0.5"}, {"hk", "2"}, {"hq", "4"}});
      for (const Factors which : kFactors) p.*which = factors(p, 0.625);
      ASSERT_EQ(kernel->unsupported(p), "");
      Asked judge(p);
      EXPECT_EQ(judge.first_failure(*kernel, run(*kernel, p)), "") << kernel->id;
      for (int i = 0; i < 3; ++i) {
        AttentionProblem without = p;
        without.*kFactors[i] = {};
        rejected[i] += judge.first_failure(*kernel, run(*kernel, without)).empty() ? 0 : 1;
        without.*kFactors[i] = factors(p, 0.625);
        (without.*kFactors[i]).set({0, 1}, (p.*kFactors[i]).at({0, 0}));  // that of the other head
        rejected[i] += judge.first_failure(*kernel, run(*kernel, without)).empty() ? 0 : 1;
      }
    }
    for (const int count : rejected) EXPECT_GE(count, 6) << kernel->id;
  }
}

TEST(DescaleKernels, AnswerNanWhereTheScaleLeavesTheRange) {
  for (const Kernel* kernel : descaling_kernels()) {
    if (kernel->id.starts_with("attention.paged")) continue;  // the code of attention.online_chunk
    for (const double last : {0x1p-60, 0x1p+60}) {
      for (const float softcap : {0.0F, 5.0F}) {
        AttentionProblem p =
            drawn("normal", 3,
                  {{"format", first_format(*kernel)}, {"b", "2"}, {"sk", "20"}, {"causal", "0"}, {"scale", "0.5"}});
        p.scale = 0x1p+60F;
        p.q_descale = factors(p, 0x1p+70);
        p.k_descale = factors(p, last);
        p.softcap = softcap;
        p.key_length = {20, 0};
        ASSERT_EQ(kernel->unsupported(p), "") << kernel->id;
        const Output output = run(*kernel, p);
        const std::int64_t rows = output.lse.shape[0];
        for (std::int64_t row = 0; row < rows; ++row) {
          const bool empty = row >= rows / 2;  // the second sequence has no keys
          const double o = output.o.at({row, 0}), lse = output.lse.at({row});
          EXPECT_TRUE(empty ? o == 0 : std::isnan(o)) << kernel->id << " " << o;
          EXPECT_TRUE(empty ? lse == -std::numeric_limits<double>::infinity() : std::isnan(lse)) << kernel->id;
        }
      }
    }
  }
}

// The dot product leaves the range, the score does not: tanh would hide it.
TEST(DescaleKernels, LoseNoOverflowInASoftcap) {
  for (const Kernel* kernel : descaling_kernels()) {
    if (kernel->id.starts_with("attention.paged") || kernel->formats[0] == Format::f16) continue;
    AttentionProblem p = drawn("normal", 3,
                               {{"format", first_format(*kernel)},
                                {"b", "1"},
                                {"sq", "1"},
                                {"sk", "2"},
                                {"hq", "1"},
                                {"hk", "1"},
                                {"d", "1"},
                                {"dv", "1"},
                                {"causal", "0"},
                                {"scale", "1"}});
    p.key_length = {};
    p.q.set({0, 0, 0, 0}, 0x1p+100);
    p.k.set({0, 0, 0, 0}, 0x1p+40);
    p.k.set({0, 0, 1, 0}, 0);
    p.k_descale = factors(p, 0x1p-140);
    p.softcap = 5;
    EXPECT_TRUE(std::isnan(run(*kernel, p).lse.at({0}))) << kernel->id;
    p.k_descale = {};
    p.k.set({0, 0, 0, 0}, std::numeric_limits<double>::infinity());
    EXPECT_FALSE(std::isnan(run(*kernel, p).lse.at({0}))) << kernel->id << ": tanh of an infinite key is 1";
  }
}

TEST(DescaleKernels, RawScoresNeedAScaleAboveZero) {
  int raw = 0;
  for (const Kernel* kernel : descaling_kernels()) {
    if (kernel->arithmetic.unit != ScoreUnit::raw) continue;
    AttentionProblem p = drawn("normal", 1, {{"scale", "0.5"}, {"b", "1"}, {"hq", "2"}, {"hk", "2"}});
    p.q_descale = factors(p, 1);
    p.q_descale.set({0, 1}, -1);
    EXPECT_EQ(kernel->unsupported(p),
              "scale * q_descale * k_descale [0, 1] = -0.500000: legal above 0, bias and sink are divided by it");
    p.k_descale = factors(p, 1);
    p.k_descale.set({0, 1}, -1);
    EXPECT_EQ(kernel->unsupported(p), "");
    p.q_descale.set({0, 1}, -0x1p-149);  // half of it is 0
    EXPECT_NE(kernel->unsupported(p), "");
    ++raw;
  }
  EXPECT_EQ(raw, 2);
}

// What split_kv loads eight at once and what it loads one by one are the same numbers.
TEST(DescaleKernels, LayoutChangesNoBit) {
  const Kernel& kernel = *find_kernel("attention.split_kv.hardened");
  for (const Format format : {Format::e4m3fn, Format::e5m2}) {
    for (const char* d : {"8", "40", "136", "264"}) {
      AttentionProblem p = drawn("normal", 5, {{"format", "f16"}, {"layout", "dense"}, {"d", d}, {"dv", d}});
      narrow(p, format, true);
      const Output dense = run(kernel, p);
      narrow(p, format, false);
      const Output spread = run(kernel, p);
      EXPECT_EQ(dense.o.storage, spread.o.storage) << d;
      EXPECT_EQ(dense.lse.storage, spread.lse.storage) << d;
    }
  }
}

}  // namespace
}  // namespace flashproof
