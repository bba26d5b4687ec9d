// What the attention reductions share: where they start, the weights of a chunk and their products with v.
#include <algorithm>
#include <utility>

#include "reference/model/attention/attention.h"
#include "reference/model/products.h"

namespace flashproof::model {

State start(const RowRun& run) {
  State state{.o = std::vector<float>(static_cast<std::size_t>(run.model.problem.value_dim()), 0.0F)};
  if (run.with_sink) {
    state.frame = run.row.sink;
    state.l = 1.0F;
    state.pull = run.row.sink_pull;
  }
  return state;
}

std::pair<std::int64_t, std::int64_t> clipped(const RowRun& run, std::int32_t chunk) {
  const auto keys = static_cast<std::int64_t>(run.row.score.size());
  const auto& boundary = run.model.plan.boundary;
  return {std::min<std::int64_t>(boundary[static_cast<std::size_t>(chunk)], keys),
          std::min<std::int64_t>(boundary[static_cast<std::size_t>(chunk) + 1], keys)};
}

float largest_score(const AttentionRow& row, std::int64_t begin, std::int64_t end) {
  float largest = kMinusInf;
  for (std::int64_t j = begin; j < end; ++j) largest = Machine::max(largest, row.score[static_cast<std::size_t>(j)]);
  return largest;
}

ChunkWeights weigh(const RowRun& run, Exponentials& exponentials, std::int64_t begin, std::int64_t end, float frame) {
  const StoredWeights& declared = run.model.arithmetic.weights;
  const auto scale = static_cast<float>(declared.scale);
  ChunkWeights weights{.begin = begin, .end = end};
  for (std::int64_t j = begin; j < end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const float score = run.row.score[at];
    if (score == kMinusInf) {  // hidden, whatever the form would make of −inf
      weights.stored.push_back(0.0F);
      weights.summand.push_back(0.0F);
      continue;
    }
    const float p = exponentials.weight(score, frame, run.row.pull.empty() ? 0 : run.row.pull[at]);
    float stored = scale == 1.0F ? p : run.machine.mul(p, scale);
    if (declared.format != Format::f32) {
      stored = static_cast<float>(decode(declared.format, encode(declared.format, stored, Overflow::saturate)));
    }
    weights.stored.push_back(stored);
    weights.summand.push_back(!declared.summed ? p : scale == 1.0F ? stored : run.machine.mul(stored, 1 / scale));
  }
  return weights;
}

float sum_in_lanes(const RowRun& run, const std::vector<float>& summands) {
  const int count = run.model.arithmetic.lanes;
  std::vector<float> lanes(static_cast<std::size_t>(count), 0.0F);
  for (std::size_t j = 0; j < summands.size(); ++j) {
    float& lane = lanes[static_cast<std::size_t>(lane_at(run.model.arithmetic, static_cast<std::int64_t>(j), count))];
    lane = run.machine.add(lane, summands[j]);
  }
  return butterfly(run.machine, lanes);
}

void add_values(const RowRun& run, const ChunkWeights& weights, std::vector<float>& o) {
  std::vector<float> values;
  for (std::size_t c = 0; c < o.size(); ++c) {
    gather_values(run.model, run.row, weights.begin, weights.end, static_cast<std::int64_t>(c), values);
    o[c] = sum_products(run.machine, run.model.arithmetic.values, {weights.stored, run.model.arithmetic.weights.format},
                        {values, run.model.problem.v.format}, o[c]);
  }
}

void unscale(const RowRun& run, std::vector<float>& o) {
  const auto scale = static_cast<float>(run.model.arithmetic.weights.scale);
  if (scale == 1.0F) return;
  for (float& x : o) x = run.machine.mul(x, 1 / scale);
}

State chunk_state(const RowRun& run, Exponentials& exponentials, std::int32_t chunk) {
  const auto [begin, end] = clipped(run, chunk);
  State state{.frame = largest_score(run.row, begin, end)};
  if (state.empty()) return state;
  state.pull = run.row.pull_of(begin, end);
  const ChunkWeights weights = weigh(run, exponentials, begin, end, state.frame);
  state.l = sum_in_lanes(run, weights.summand);
  state.o.assign(static_cast<std::size_t>(run.model.problem.value_dim()), 0.0F);
  add_values(run, weights, state.o);
  unscale(run, state.o);
  return state;
}

Normalised normalised(State&& state, Endings& endings) {
  const float lse = state.empty() ? kMinusInf : endings.lse(state.frame, state.l);
  return {.o = std::move(state.o), .lse = lse, .pull = state.pull};
}

}  // namespace flashproof::model
