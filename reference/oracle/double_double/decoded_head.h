// K and V of one (sequence, kv head) as doubles, in the layout of the kernels. Kept as a whole if small enough, else one
// chunk of keys at a time. NaN and ±inf become 0: their scores and columns are decided in rows.h.
#pragma once

#include "reference/oracle/double_double/kernels.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// The number 2^t, t the lowest bit set in any of the components; 1 if all are 0.
double quantum(const double* x, std::int64_t n);

/// n elements along the last axis from this offset, exact; NaN and ±inf become 0.
void decode_vector(const Tensor& tensor, std::int64_t offset, std::int64_t n, double* to);

class DecodedHead {
 public:
  /// At most `bytes` for keys and values together, or what 8 keys need.
  DecodedHead(const AttentionProblem& problem, std::int64_t bytes);

  /// Forgets what is decoded if it is of another head.
  void select(std::int64_t sequence, std::int64_t kv_head);

  /// Keys per chunk, a multiple of kBlock. Chunk n begins at key n·chunk_keys().
  std::int64_t chunk_keys() const { return chunk_keys_; }
  /// (blocks of kBlock keys) x d x kBlock; keys beyond the visible length are 0.
  const double* keys(std::int64_t chunk);
  /// By key of the chunk last asked for with keys().
  const double* key_quantum() const { return key_quantum_.data(); }
  /// (groups of kBlock columns) x chunk_keys() x kBlock.
  const double* values(std::int64_t chunk);

  static std::int64_t chunk_keys(const AttentionProblem& problem, std::int64_t bytes);
  /// What it allocates.
  static std::int64_t bytes(const AttentionProblem& problem, std::int64_t bytes);

 private:
  static std::int64_t bytes_per_key(const AttentionProblem& problem);

  const AttentionProblem* problem_;
  std::int64_t chunk_keys_;
  std::int64_t sequence_ = -1, kv_head_ = -1;
  std::int64_t key_chunk_ = -1, value_chunk_ = -1;  // what is decoded, -1 = nothing
  AlignedDoubles keys_, key_quantum_, values_, vector_;
};

}  // namespace flashproof
