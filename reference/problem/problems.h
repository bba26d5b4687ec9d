// The three problems as plain data, and which keys a row sees. Semantics of every edge case: README.md beside this
// file.
//
//   softmax    x (rows, cols)                              -> o (rows, cols),        lse (rows)
//   merge      o_c (n, rows, dv), lse_c (n, rows)          -> o (rows, dv | n·dv),   lse (rows)
//   attention  q (B, Hq, Sq, d), k (B, Hk, Sk, d),
//              v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk)     -> o (B, Hq, Sq, dv),     lse (B, Hq, Sq)
//
// Every output is handled as `rows x width`, row-major and dense; an attention row is ((b·Hq + h)·Sq + i).
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>
#include <vector>

#include "reference/problem/tensor.h"

namespace flashproof {

enum class ProblemKind : std::uint8_t { softmax, merge, attention };
std::string_view name(ProblemKind kind);

/// Boundaries 0 = b[0] < b[1] < ... < b[n] = length (n = 0 iff length = 0) and the order in which the n chunks are
/// visited (a permutation of 0..n-1). Keys beyond a row's own length are clipped off; a chunk left empty is skipped.
struct ChunkPlan {
  std::vector<std::int32_t> boundary;
  std::vector<std::int32_t> order;

  bool operator==(const ChunkPlan&) const = default;
  int chunks() const { return static_cast<int>(order.size()); }
  /// Equal chunks of `size` keys (the last may be shorter), visited left to right.
  static ChunkPlan uniform(std::int64_t length, std::int64_t size);
};

struct SoftmaxProblem {
  Tensor x;                              // (rows, cols): f32, f16, bf16
  std::vector<std::int32_t> row_length;  // visible prefix per row, 0..cols; empty = every column. o beyond it is 0
  ChunkPlan plan;                        // over the columns

  bool operator==(const SoftmaxProblem&) const = default;
};

/// sum: o = Σ_c e^{lse_c − lse} o_c.  concat: the rescaled blocks e^{lse_c − lse} o_c side by side, block c at
/// columns [c·dv, (c+1)·dv) whatever the order.
enum class MergeForm : std::uint8_t { sum, concat };

struct MergeProblem {
  Tensor o;                         // (n, rows, dv): f32, f16, bf16
  Tensor lse;                       // (n, rows): f32
  std::vector<std::int32_t> order;  // permutation of 0..n-1; states are folded left in this order
  MergeForm form = MergeForm::sum;

  bool operator==(const MergeProblem&) const = default;
};

struct AttentionProblem {
  Tensor q, k, v;       // f32, f16 or bf16, one format; Hq is a multiple of Hk; query head h reads kv head h·Hk/Hq
  float scale = 1.0F;   // finite; the exact value of this number multiplies q·k
  bool causal = false;  // bottom-right aligned: query i sees key j iff j <= i + Sk − Sq
  std::vector<std::int32_t> key_length;  // per batch, 0..Sk; empty = Sk
  Tensor bias;                           // f32, added to the scaled score, −inf hides the key; no shape = none
  ChunkPlan plan;                        // over the keys

  bool operator==(const AttentionProblem&) const = default;
  std::int64_t batch() const { return q.shape[0]; }
  std::int64_t q_heads() const { return q.shape[1]; }
  std::int64_t k_heads() const { return k.shape[1]; }
  std::int64_t q_length() const { return q.shape[2]; }
  std::int64_t k_length() const { return k.shape[2]; }
  std::int64_t head_dim() const { return q.shape[3]; }
  std::int64_t value_dim() const { return v.shape[3]; }
  std::int64_t kv_head(std::int64_t h) const { return h * k_heads() / q_heads(); }
  std::int64_t visible_length(std::int64_t b) const { return key_length.empty() ? k_length() : key_length[b]; }
  bool has_bias() const { return !bias.shape.empty(); }
  /// Position only (length and causal); a bias of −inf hides a key too, see hidden_by_bias().
  bool position_visible(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return j < visible_length(b) && (!causal || j <= i + k_length() - q_length());
  }
  bool hidden_by_bias(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return has_bias() && bias.at({b, h, i, j}) == -std::numeric_limits<double>::infinity();
  }
};

/// Limits of validate(). Offsets into an output, and a row's key index, fit an int32.
inline constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 31) - 1;  // of one axis, and of an output's elements
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;      // of one input tensor
inline constexpr std::int64_t kMaxHeadDim = 65536;                       // d and dv

using Problem = std::variant<SoftmaxProblem, MergeProblem, AttentionProblem>;

ProblemKind kind_of(const Problem& problem);
/// The storage format of the inputs and of o (lse is always f32).
Format format_of(const Problem& problem);
/// Size of the output: o is rows x width, lse is rows.
struct OutputShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
};
OutputShape output_shape(const Problem& problem);

/// Throws UsageError naming the first argument that does not fit and its legal range. An axis may have length 0 except
/// the heads, d, dv and the number of states.
void validate(const SoftmaxProblem& problem);
void validate(const MergeProblem& problem);
void validate(const AttentionProblem& problem);
void validate(const Problem& problem);

/// What a kernel returns. o is dense (rows, width) in the storage format, lse dense (rows) in f32.
struct Output {
  Tensor o;
  Tensor lse;
};

}  // namespace flashproof
