// Test support: declarations whose blocks come in any order, and plans that are such orders.
#pragma once

#include <algorithm>
#include <ostream>
#include <vector>

#include "reference/bound/declare/declaration.h"
#include "reference/bound/declare/presets.h"
#include "reference/model/attack/attack_problems.h"

#ifndef FLASHPROOF_FOREIGN_ROUNDS  // problems of every declaration
#define FLASHPROOF_FOREIGN_ROUNDS 60
#endif

namespace flashproof::any_order {

inline ChunkPlan& plan_of(Problem& problem) {
  auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention != nullptr ? attention->plan : std::get<SoftmaxProblem>(problem).plan;
}

using attack::refused;

/// Boundaries at some of the multiples of `block`, any order.
inline ChunkPlan random_plan(Random& random, std::int64_t length, std::int64_t block) {
  ChunkPlan plan{.boundary = {0}, .order = {}};
  const double kept = random.chance(0.3) ? 1 : random.uniform(0, 1);
  for (std::int64_t at = block; at < length; at += block) {
    if (random.chance(kept)) plan.boundary.push_back(static_cast<std::int32_t>(at));
  }
  if (length > 0) plan.boundary.push_back(static_cast<std::int32_t>(length));
  for (std::size_t c = 0; c + 1 < plan.boundary.size(); ++c) plan.order.push_back(static_cast<std::int32_t>(c));
  for (std::size_t c = plan.order.size(); c-- > 1;) {
    std::swap(plan.order[c], plan.order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(c)))]);
  }
  return plan;
}

struct Named {
  const char* name;
  ProblemKind kind;
  Format inputs;
  Arithmetic arithmetic;
};
inline std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.name; }

inline Arithmetic in_any(Arithmetic a, int block) {
  a.block = block;
  a.visits = BlockOrder::any;
  return a;
}

inline Arithmetic online(Reduction reduction, Exponent exponent, int lanes) {
  Arithmetic a = presets::kPytorchSoftmax;
  a.reduction = reduction;
  a.exponent = exponent;
  a.lanes = lanes;
  a.warps = 1;
  return a;
}

inline Arithmetic chains(int count) {
  Arithmetic a = presets::triton(Exponent::accurate);
  a.unit = ScoreUnit::natural;
  a.lse_form = LseForm::max_plus_log;
  a.lanes = 2;
  a.dot = {.chains = 1};
  a.values = {.chains = count};
  a.weights = {};
  return a;
}

inline std::vector<Named> declarations() {
  using enum ProblemKind;
  return {{"fa2", attention, Format::f16, in_any(presets::kFa2Sm80F16, 8)},
          {"fa3", attention, Format::bf16, in_any(presets::kFa3Sm90Bf16, 16)},
          {"fa3_fp8_promoted", attention, Format::e4m3fn, in_any(presets::kFa3Sm90Fp8Promoted, 128)},
          {"fa4", attention, Format::bf16, in_any(presets::kFa4Sm100Bf16, 16)},
          {"unfused", attention, Format::f16, in_any(presets::kTritonUnfused, 32)},
          {"one_chain", attention, Format::f32, in_any(chains(1), 4)},
          {"four_chains", attention, Format::f32, in_any(chains(4), 4)},
          {"online", softmax, Format::f32, in_any(online(Reduction::chunked_online, Exponent::accurate, 1), 1)},
          {"online_fused", softmax, Format::f16, in_any(online(Reduction::chunked_online, Exponent::fused, 4), 8)},
          {"local_unfused", softmax, Format::f32, in_any(online(Reduction::chunked_local, Exponent::unfused, 2), 2)}};
}

}  // namespace flashproof::any_order
