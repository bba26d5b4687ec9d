// Launch arguments of the three problems as the device sees them: plain pointers, strides in elements.
#pragma once

#include <cstdint>
#include <variant>

#include "kernels/simt/stream.h"
#include "reference/problem/formats.h"

namespace flashproof {

struct SoftmaxArgs {
  const void* x;  // (rows, cols)
  void* o;        // (rows, cols), dense
  float* lse;     // (rows)
  Format format;  // of x and o
  std::int32_t rows, cols;
  std::int64_t x_row, x_col;
  const std::int32_t* row_length;  // (rows), or null: every column
  const std::int32_t* boundary;    // (chunks + 1)
  const std::int32_t* order;       // (chunks)
  std::int32_t chunks;
  std::int32_t threads;  // block size wanted where it is free (benchmarks); 0 = as declared
};

struct MergeArgs {
  const void* o_in;     // (states, rows, dv)
  const float* lse_in;  // (states, rows)
  void* o;              // (rows, dv), or (rows, states * dv) if concat; dense
  float* lse;           // (rows)
  Format format;        // of o_in and o
  std::int32_t states, rows, dv;
  std::int64_t o_state, o_row, o_col, lse_state, lse_row;
  const std::int32_t* order;  // (states)
  bool concat;
};

struct AttentionArgs {
  const void *q, *k, *v;  // (batch, heads, length, dim)
  const float* bias;      // (batch, q_heads, q_length, k_length), or null
  void* o;                // (batch, q_heads, q_length, value_dim), dense
  float* lse;             // (batch, q_heads, q_length)
  Format format;          // of q, k, v and o
  std::int32_t batch, q_heads, k_heads, q_length, k_length, head_dim, value_dim;
  std::int64_t q_stride[4], k_stride[4], v_stride[4], bias_stride[4];
  float scale;
  bool causal;
  const std::int32_t* key_length;  // (batch), or null: k_length
  const std::int32_t* boundary;    // (chunks + 1)
  const std::int32_t* order;       // (chunks)
  std::int32_t chunks;
  std::int32_t max_chunk;  // the longest chunk, in keys
};

/// One per problem, in the order of ProblemKind.
using Launch = std::variant<void (*)(const SoftmaxArgs&, Stream), void (*)(const MergeArgs&, Stream),
                            void (*)(const AttentionArgs&, Stream)>;

}  // namespace flashproof
