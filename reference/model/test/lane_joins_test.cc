// A kernel may share a row among more threads than its preset has lanes, or join them by a deeper tree: whatever tree it
// takes, its preset holds. The last key carries the row; at every level of the butterfly a key of just less than half an ulp
// stands beside it, and is lost.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/model/model.h"

namespace flashproof {
namespace {

constexpr int kLanes = 1024;  // of a block of threads
constexpr int kLevels = 10;
constexpr std::int64_t kKeys = 2 * kLanes;
constexpr double kSmall = -16.6555;   // e^x = 0.98 · 2^-24
constexpr double kNothing = -1000.0;  // e^x = 0

/// Score of the key: 0 of the last, kSmall of the other of its lane and of one lane on the far side of every level.
double score_of(std::int64_t key) {
  const std::int64_t lane = key % kLanes, last = kLanes - 1;
  if (key == kKeys - 1) return 0;
  const std::int64_t apart = lane ^ last;
  return key < kLanes && (apart & (apart - 1)) == 0 ? kSmall : kNothing;
}

double exact_sum() { return 1 + (kLevels + 1) * std::exp(static_cast<double>(static_cast<float>(kSmall))); }

Problem attention() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = p.v = Tensor::dense(Format::f32, {1, 1, kKeys, 1});
  p.q.set({0, 0, 0, 0}, 1);
  for (std::int64_t key = 0; key < kKeys; ++key) {
    p.k.set({0, 0, key, 0}, score_of(key));
    p.v.set({0, 0, key, 0}, key == kKeys - 1 ? 1 : 0);
  }
  p.scale = 1;
  p.plan = ChunkPlan::uniform(kKeys, 64);
  return p;
}

Problem softmax() {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, kKeys});
  for (std::int64_t key = 0; key < kKeys; ++key) p.x.set({0, key}, score_of(key));
  p.plan = ChunkPlan::uniform(kKeys, 64);
  return p;
}

struct Measured {
  double error, bound;
};

/// Of the last key's output and of lse, of one row.
std::pair<Measured, Measured> measure(const Problem& problem, const Arithmetic& executed, const Arithmetic& declared) {
  const Output output = run_model(problem, executed);
  const Bound bound = compute_bound(problem, declared);
  const std::int64_t at = bound.width - 1;
  const double o = output.o.at({0, at});
  const double lse = output.lse.elements() == 1 ? decode(Format::f32, output.lse.bits(0)) : NAN;
  return {{std::fabs(o - 1 / exact_sum()), bound.o[static_cast<std::size_t>(at)].total()},
          {std::fabs(lse - std::log(exact_sum())), bound.lse[0].total()}};
}

void expect_held(const Problem& problem, std::string_view preset) {
  const ProblemKind kind = kind_of(problem);
  const Arithmetic declared = parse_arithmetic(preset, kind, Format::f32);
  Arithmetic executed = declared;
  executed.lanes = kLanes;
  executed.deal = 1;
  executed.warps = kind == ProblemKind::softmax ? 1 : 0;
  executed.lane_joins = 0;
  executed.block = 0;
  executed.visits = BlockOrder::plan;
  const auto [o, lse] = measure(problem, executed, declared);
  EXPECT_GT(o.error, kLevels * 0x1p-24) << preset;  // the levels have lost what they were to lose
  EXPECT_LE(o.error, o.bound) << preset;
  EXPECT_LE(lse.error, lse.bound) << preset;
  Arithmetic alone = declared;
  alone.lane_joins = 0;
  EXPECT_LT(measure(problem, executed, alone).first.bound, o.bound) << preset;
}

TEST(LaneJoins, hold_for_a_deeper_tree_than_the_lanes_make) {
  for (const char* preset : {"pytorch_math", "jax_xla"}) expect_held(attention(), preset);
  expect_held(softmax(), "pytorch_softmax");
}

/// In lanes of 8 a column may be followed by four times as many as in lanes of 32.
TEST(LaneJoins, of_a_gpu_are_not_those_of_a_cpu) {
  SoftmaxProblem p;
  constexpr std::int64_t kColumns = 8 * 1024;
  p.x = Tensor::dense(Format::f32, {1, kColumns});
  // The first vector carries the row; all others are lost beside it, one after another.
  for (std::int64_t c = 0; c < kColumns; ++c) p.x.set({0, c}, c < 8 ? 0 : kSmall);
  p.plan = ChunkPlan::uniform(kColumns, 64);
  const Arithmetic gpu = parse_arithmetic("pytorch_softmax", ProblemKind::softmax, Format::f32);
  const Arithmetic cpu = parse_arithmetic("pytorch_softmax_cpu", ProblemKind::softmax, Format::f32);
  Arithmetic executed = cpu;
  executed.lane_joins = 0;
  const Problem problem = p;
  const double exact = 8 + (kColumns - 8) * std::exp(static_cast<double>(static_cast<float>(kSmall)));
  const double error = std::fabs(run_model(problem, executed).o.at({0, 0}) - 1 / exact);
  EXPECT_LE(error, compute_bound(problem, cpu).o[0].total());
  EXPECT_GT(error, 2 * compute_bound(problem, gpu).o[0].total());
}

// A row of one key has no other key to be joined with.
TEST(LaneJoins, cost_a_row_of_one_key_nothing) {
  AttentionProblem p = std::get<AttentionProblem>(attention());
  p.k = p.v = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k.set({0, 0, 0, 0}, 0);
  p.v.set({0, 0, 0, 0}, 1);
  p.plan = ChunkPlan::uniform(1, 1);
  Arithmetic a = parse_arithmetic("jax_xla", ProblemKind::attention, Format::f32);
  const Bound with = compute_bound(Problem(p), a);
  a.lane_joins = 0;
  EXPECT_EQ(with.o[0].total(), compute_bound(Problem(p), a).o[0].total());
}

TEST(LaneJoins, are_refused_where_the_lanes_are_joined_as_the_reduction_says) {
  Arithmetic a = parse_arithmetic("pytorch_softmax", ProblemKind::softmax, Format::f32);
  a.reduction = Reduction::strided_online;
  a.lane_joins = 1;
  EXPECT_THROW(require_declaration(ProblemKind::softmax, a), std::invalid_argument);
  a = parse_arithmetic("flat", ProblemKind::merge, Format::f32);
  a.lane_joins = 1;
  EXPECT_THROW(require_declaration(ProblemKind::merge, a), std::invalid_argument);
  a = parse_arithmetic("jax_xla", ProblemKind::attention, Format::f32);
  a.lane_joins = -1;
  EXPECT_THROW(require_declaration(ProblemKind::attention, a), std::invalid_argument);
}

}  // namespace
}  // namespace flashproof
