// Launch arguments of the four problems as the device sees them: plain pointers, strides in elements.
#pragma once

#include <cstdint>
#include <variant>

#include "kernels/simt/stream.h"
#include "reference/problem/formats.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Memory that the kernel may use between its launches, as many bytes as it asked for (KernelDeclaration::workspace),
/// aligned to 16 bytes; before the first launch every byte is 0xff.
struct Workspace {
  void* data;
  std::int64_t bytes;
};

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
  Workspace workspace;
};

struct MergeArgs {
  const void* o_in;     // (states, rows, dv)
  const float* lse_in;  // (states, rows); m of un-normalised states
  const float* l_in;    // (states, rows), or null: the states are normalised
  void* o;              // (rows, dv), or (rows, states * dv) if concat; dense
  float* lse;           // (rows)
  Format format;        // of o_in and o
  std::int32_t states, rows, dv;
  std::int64_t o_state, o_row, o_col, lse_state, lse_row, l_state, l_row;
  const std::int32_t* order;  // (states)
  const Join* joins;          // (states - 1), or null: no tree is asked for
  bool concat;
  Workspace workspace;
};

/// Sequences are counted by `batch`; packed, all of them lie in axis 0 = 0 of q, k, v and o, one after another along
/// axis 2. q_length and k_length are those of the longest sequence, whatever it holds.
struct AttentionArgs {
  const void *q, *k, *v;  // (batch, heads, length, dim); paged: k, v (pages, k_heads, page_size, dim)
  const float* bias;      // (batch, q_heads, q_length, k_length), or null
  void* o;                // (batch, q_heads, q_length, value_dim); packed: (q_heads, tokens, value_dim); dense
  float* lse;             // (batch, q_heads, q_length); packed: (q_heads, tokens)
  Format format;          // of q
  Format kv_format;       // of k and v
  Format out_format;      // of o
  std::int32_t batch, q_heads, k_heads, q_length, k_length, head_dim, value_dim;
  std::int64_t q_stride[4], k_stride[4], v_stride[4], bias_stride[4];
  float scale;
  bool causal;
  std::int32_t window_left, window_right;              // -1: unlimited
  float softcap;                                       // 0: none
  const float* alibi;                                  // (batch, q_heads), or null
  const float* sink;                                   // (q_heads), or null
  const float *q_descale, *k_descale, *v_descale;      // (batch, k_heads), each or null: 1
  const std::int32_t* key_length;                      // (batch), or null: all of the sequence
  const std::int32_t* q_start;                         // (batch + 1), or null: not packed
  const std::int32_t* k_start;                         // (batch + 1), or null: not packed, or paged
  const std::int32_t* page_table;                      // (batch, pages_per_sequence), or null: not paged
  std::int32_t page_size, pages_per_sequence, tokens;  // tokens: of q, if packed
  const std::int32_t* boundary;                        // (chunks + 1)
  const std::int32_t* order;                           // (chunks)
  std::int32_t chunks;
  std::int32_t max_chunk;  // the longest chunk, in keys
  Workspace workspace;
};

/// The gradient: what the forward kernel read, what it returned, and dO. All of `forward` is as there, but its o and lse
/// are null, its plan and its workspace are not looked at.
struct BackwardArgs {
  AttentionArgs forward;
  const void* d_out;  // (batch, q_heads, q_length, value_dim), the format of q
  const void* o;      // the same shape
  const float* lse;   // (batch, q_heads, q_length)
  void *dq, *dk,
      *dv;          // (batch, q_heads, q_length, head_dim), (batch, k_heads, k_length, head_dim and value_dim); dense
  Format o_format;  // dq, dk and dv have that of q
  std::int64_t d_out_stride[4], o_stride[4], lse_stride[3];
  Workspace workspace;
};

/// One per problem, in the order of ProblemKind.
using Launch = std::variant<void (*)(const SoftmaxArgs&, Stream), void (*)(const MergeArgs&, Stream),
                            void (*)(const AttentionArgs&, Stream), void (*)(const BackwardArgs&, Stream)>;

}  // namespace flashproof
