// `unknown` bounds every kernel that may be declared by name for its problem and format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/system/error.h"

#ifndef FLASHPROOF_FOREIGN_ROUNDS  // problems of every declaration
#define FLASHPROOF_FOREIGN_ROUNDS 60
#endif

namespace flashproof {
namespace {

constexpr double kSame = 1 + 0x1p-20;

struct Compared {
  std::int64_t elements = 0, beyond = 0;
  double sum = 0;

  void take(const std::vector<ElementBound>& unknown, const std::vector<ElementBound>& known) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      beyond += known[i].total() > unknown[i].total() * kSame ? 1 : 0;
      if (!(known[i].total() > 0) || !std::isfinite(unknown[i].total())) continue;
      ++elements;
      sum += std::log(unknown[i].total() / known[i].total());
    }
  }
  double typical() const { return std::exp(sum / static_cast<double>(elements)); }
};

struct Inputs {
  ProblemKind kind;
  Format format;
};

class Unknown : public testing::TestWithParam<Inputs> {};

TEST_P(Unknown, is_no_smaller_than_any_preset) {
  const auto [kind, format] = GetParam();
  const Arithmetic unknown = parse_arithmetic("unknown", kind, format);
  std::map<std::string_view, Compared> by_name;
  for (std::uint64_t round = 0; round < FLASHPROOF_FOREIGN_ROUNDS; ++round) {
    Random random(round, 74);
    const Problem problem = round % 3 == 0 ? attack::mild(random, kind, format) : attack::hostile(random, kind, format);
    const Bound all = compute_bound(problem, unknown);
    if (all.refined > 0)
      continue;  // nearly vacuous: boxes take over from the closed form, which is not monotonic there
    for (const ArithmeticPreset& preset : arithmetic_presets(kind)) {
      if (preset.name == "unknown" || !preset_takes(preset.name, kind, format)) continue;
      Bound one;
      try {
        one = compute_bound(problem, parse_arithmetic(preset.name, kind, format));
      } catch (const UsageError&) {
        continue;  // raw scores under a scale below 0, joins of what is flat
      }
      Compared& compared = by_name[preset.name];
      const std::int64_t before = compared.beyond;
      compared.take(all.o, one.o);
      compared.take(all.lse, one.lse);
      if (before == 0 && compared.beyond > 0) ADD_FAILURE() << preset.name << ", round " << round;
    }
  }
  EXPECT_FALSE(by_name.empty());
  for (const auto& [name, compared] : by_name) {
    EXPECT_EQ(compared.beyond, 0) << name << " of " << compared.elements;
    EXPECT_GT(compared.elements, 100) << name;
    std::cout << name << ": " << compared.elements << " elements, unknown/preset " << compared.typical() << '\n';
  }
}
INSTANTIATE_TEST_SUITE_P(
    all, Unknown,
    testing::Values(Inputs{ProblemKind::attention, Format::f32}, Inputs{ProblemKind::attention, Format::f16},
                    Inputs{ProblemKind::attention, Format::bf16}, Inputs{ProblemKind::attention, Format::e4m3fn},
                    Inputs{ProblemKind::softmax, Format::f32}, Inputs{ProblemKind::softmax, Format::f16},
                    Inputs{ProblemKind::softmax, Format::bf16}, Inputs{ProblemKind::merge, Format::f32},
                    Inputs{ProblemKind::merge, Format::f16}, Inputs{ProblemKind::merge, Format::bf16}),
    [](const auto& info) {
      return std::string(name(info.param.kind)) + "_" + std::string(flashproof::info(info.param.format).name);
    });

// What it costs not to know: mean of the ratio for rows of normal inputs, as README.md of reference/bound tells it. One
// query, head dimension 64, a scale of 1/8.
TEST(Unknown, is_not_useless) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    for (const std::int64_t keys : {64, 256, 1024}) {
      Random random(static_cast<std::uint64_t>(keys), 77);
      AttentionProblem p;
      const auto normal = [&](std::int64_t n) {
        Tensor tensor = Tensor::dense(format, {1, 1, n, 64});
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t c = 0; c < 64; ++c) tensor.set({0, 0, i, c}, random.normal());
        }
        return tensor;
      };
      p.q = normal(1);
      p.k = normal(keys);
      p.v = normal(keys);
      p.scale = 0.125F;
      p.plan = ChunkPlan::uniform(keys, 64);
      const Problem problem = p;
      const Bound all = compute_bound(problem, parse_arithmetic("unknown", ProblemKind::attention, format));
      for (const ArithmeticPreset& preset : arithmetic_presets(ProblemKind::attention)) {
        if (!preset_takes(preset.name, ProblemKind::attention, format)) continue;
        Compared compared;
        compared.take(all.o, compute_bound(problem, parse_arithmetic(preset.name, ProblemKind::attention, format)).o);
        const double largest = std::ranges::max(all.o, {}, &ElementBound::total).total();
        std::cout << info(format).name << ", " << keys << " keys, " << preset.name << ": " << compared.typical()
                  << " (bounds of unknown up to " << largest << ")\n";
        EXPECT_LT(compared.typical(), preset.name == "pytorch_math" && format != Format::f32 ? 1000 : 40)
            << preset.name << " of " << keys << " keys, " << info(format).name;
        EXPECT_LT(largest, 0.05);
      }
    }
  }
}

// Were it one of its own alternatives alone, some preset would exceed it.
TEST(Unknown, needs_its_alternatives) {
  Arithmetic alone = parse_arithmetic("unknown", ProblemKind::merge, Format::f32);
  alone.reduction = Reduction::flat;
  const Arithmetic ring = parse_arithmetic("ring_attention", ProblemKind::merge, Format::f32);
  Compared compared;
  for (std::uint64_t round = 0; round < 60; ++round) {
    Random random(round, 75);
    const Problem problem = attack::hostile(random, ProblemKind::merge, Format::f32);
    const auto& merge = std::get<MergeProblem>(problem);
    if (merge.has_l() || !merge.joins.empty()) continue;
    compared.take(compute_bound(problem, alone).o, compute_bound(problem, ring).o);
  }
  EXPECT_GT(compared.beyond, 0);
}

}  // namespace
}  // namespace flashproof
