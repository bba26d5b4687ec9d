// The attention reductions over the chunks of one row, or of one part of a split.
#pragma once

#include <span>

#include "reference/model/attention/row.h"
#include "reference/model/state.h"

namespace flashproof::model {

/// What one row's reduction needs. `chunks` are indices into the model's plan, in visiting order; the sink belongs to the first
/// part alone.
struct RowRun {
  const AttentionModel& model;
  Machine& machine;
  const AttentionRow& row;
  std::span<const std::int32_t> chunks;
  bool with_sink;
};

/// FlashAttention-2: running frame, un-normalised accumulator.
State run_deferred(const RowRun& run);
/// FlashAttention-1: normalised after every chunk.
Normalised run_normalized(const RowRun& run);
/// The same with exponentials of the frames on their own, and every weight divided.
Normalised run_separated(const RowRun& run);
/// Chunks normalised on their own, then joined.
Normalised run_recap(const RowRun& run);
/// The running lse is the frame's floor; no division.
Normalised run_lse_running(const RowRun& run);
/// The row's maximum first, P = e^{s−m}/l stored, one sum of p·v.
Normalised run_resident(const RowRun& run);

/// Before the first chunk: no key, or the sink, which has weight 1 and no value.
State start(const RowRun& run);

/// The weights of one chunk.
struct ChunkWeights {
  std::int64_t begin = 0, end = 0;
  std::vector<float> stored = {};   // P as it multiplies v, times the declared scale
  std::vector<float> summand = {};  // as it enters the denominator; 0 of a hidden key
};
/// Rounds e^{score − frame} as StoredWeights declares.
ChunkWeights weigh(const RowRun& run, Exponentials& exponentials, std::int64_t begin, std::int64_t end, float frame);
/// Σ of the summands: lane by lane in order, then a butterfly.
float sum_in_lanes(const RowRun& run, const std::vector<float>& summands);
/// The largest score in [begin, end), −inf if none is visible.
float largest_score(const AttentionRow& row, std::int64_t begin, std::int64_t end);
/// start ⊕ Σ P v over the chunk, for every column.
void add_values(const RowRun& run, const ChunkWeights& weights, std::vector<float>& o);
/// Takes the declared scale of P off again.
void unscale(const RowRun& run, std::vector<float>& o);
/// A chunk in a frame of its own, its largest score; the declared scale of P is off.
State chunk_state(const RowRun& run, Exponentials& exponentials, std::int32_t chunk);
/// What a reduction ends with whose o is normalised already.
Normalised normalised(State&& state, Endings& endings);
/// [begin, end) of a chunk, clipped to the row.
std::pair<std::int64_t, std::int64_t> clipped(const RowRun& run, std::int32_t chunk);

}  // namespace flashproof::model
