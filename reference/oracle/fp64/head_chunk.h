// What the vector code of attention works on: a chunk of packed keys, and a block of query rows with their running sums.
// Letters and formulas: README.md, "Attention".
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/rows.h"
#include "reference/problem/problems.h"

namespace flashproof::attention64 {

inline constexpr std::int64_t kPanel = 16;      // keys, or columns of v, side by side in packed storage
inline constexpr std::int64_t kTerms = 32;      // products in one accumulator before it is added to the others
inline constexpr std::int64_t kGroup = 8;       // rows of one tile
inline constexpr std::int64_t kBlockRows = 32;  // rows of one task
inline constexpr std::int64_t kMaxChunk = 512;

inline constexpr double kRoundoff = 0x1p-53;  // u
/// Roundings of the radii themselves and everything of second order. Each radius is a sum or product of numbers that are
/// not negative, at most 2^31 of them in a chain, so (1 + u)^(2^31) < 1 + 2^-21.
inline constexpr double kInflation = 1 + 0x1p-20;
inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// From row to row of what the tiles write: not a multiple of 4096 bytes, or a load would wait for the store of another
/// row whose address ends alike (three times slower with AVX2).
inline std::int64_t pitch(std::int64_t columns) { return columns + kPanel; }
inline std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// Uninitialised doubles on a cache line boundary.
class Buffer {
 public:
  double* grow(std::int64_t doubles) {
    if (doubles > size_) {
      data_.reset();
      size_ = round_up(doubles, 8);
      data_.reset(static_cast<double*>(std::aligned_alloc(64, static_cast<std::size_t>(size_) * sizeof(double))));
      if (!data_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_.get();
  }
  std::int64_t size() const { return size_; }
  void release() {
    data_.reset();
    size_ = 0;
  }

 private:
  struct Free {
    void operator()(double* p) const { std::free(p); }
  };
  std::unique_ptr<double, Free> data_;
  std::int64_t size_ = 0;
};

/// The keys [first, first + count) of one (sequence, kv head): numbers as doubles, NaN and ±inf replaced by 0, padded by
/// zero keys to `capacity`, a multiple of kTerms.
struct Chunk {
  static constexpr std::uint8_t kSpecialKey = 1, kSpecialValue = 2;

  std::int64_t first = 0, count = 0, capacity = 0;
  bool special = false;     // some flag is set
  double* k = nullptr;      // [capacity/16][d][16]
  double* v = nullptr;      // [dv/16][capacity][16]
  float* v_size = nullptr;  // |v| in the same places, times the power of two that brings its column's largest to 2^40
  double* v_unscale = nullptr;    // [dv] undoes that, and the scale of the entries it is multiplied with
  double* v_largest = nullptr;    // [dv] the column's largest |v|
  double* k_norm = nullptr;       // [capacity] >= ‖k_j‖
  double* k_quanta = nullptr;     // [capacity] >= ‖k_j‖ over the lowest set bit among its components
  std::uint8_t* flags = nullptr;  // [capacity]

  static std::int64_t doubles(std::int64_t capacity, std::int64_t depth, std::int64_t padded_width) {
    return capacity * depth + capacity * padded_width + capacity * padded_width / 2 + 2 * padded_width + 2 * capacity +
           round_up(capacity, 64) / 8;
  }
  void place(double* storage, std::int64_t depth, std::int64_t padded_width) {
    k = storage;
    v = k + capacity * depth;
    v_size = reinterpret_cast<float*>(v + capacity * padded_width);
    v_unscale = v + capacity * padded_width + capacity * padded_width / 2;
    v_largest = v_unscale + padded_width;
    k_norm = v_largest + padded_width;
    k_quanta = k_norm + capacity;
    flags = reinterpret_cast<std::uint8_t*>(k_quanta + capacity);
  }
};

/// One query row: what it is, and its sums over the chunks so far, all relative to e^m.
struct RowState {
  std::int64_t place = 0;  // row of the truth
  AttentionRow row{};
  AttentionProblem::Keys visible{};
  const RowKeys* keys = nullptr;  // the keys with a weight, if special values have a say in it
  bool anchored = false;          // the weights are relative to the exact score of `anchor`, for which m stands
  std::int64_t anchor = -1;       // −1: the sink
  double anchor_error = 0;        // >= |m − that score|

  double m = kMinusInfinity;
  double sum = 0;            // L
  double weight_radius = 0;  // Σ ρ_j but for the star's
  double sum_rounding = 0;   // rounding of L
  double star_weight = 0;    // of the key with the largest weight: its ρ is kept apart
  double star_radius = 0;
  double top = kMinusInfinity;  // largest score, the key that has it, and its error
  std::int64_t top_key = -1;
  double top_error = 0;
  double score_error = 0;  // largest e_j of a weight above 0
  double roundings = 0;    // h_L + h_N, for the cause
  bool seen = false;       // some key has a weight
  bool special = false;    // a special value is in sight: `keys` is needed
  bool failed = false;     // a weight could not be bounded

  double* o = nullptr;       // [padded dv] N
  double* radius = nullptr;  // [padded dv] bound of the error of N, but for the star's
  double* star = nullptr;    // [padded dv] v of the star
};

/// Working storage of one task.
struct Scratch {
  Buffer buffer;
  double* q = nullptr;        // [32][d padded to 8]
  double* scores = nullptr;   // [32][pitch(capacity)] dot products, then weights
  float* entries = nullptr;   // [32][pitch(capacity)] (ρ_j + h_N u w_j)·2^40 for the product with |V|
  double* sums = nullptr;     // [32][pitch(padded dv)] one chunk's N
  float* sizes = nullptr;     // [32][pitch(padded dv)] entries · v_size
  double* offset = nullptr;   // [capacity] bias − slope·distance, −inf hides
  double* error = nullptr;    // [capacity] absolute error of offset, and of a capped score
  double* vectors = nullptr;  // [32][3][padded dv] the rows' o, radius and star, if they need not outlast the task
  double* keys = nullptr;     // [16][d padded to 8], or [dv padded to 16] while packing

  static std::int64_t doubles(std::int64_t capacity, std::int64_t depth, std::int64_t padded_width);
  void prepare(std::int64_t capacity, std::int64_t depth, std::int64_t padded_width);
};

/// The rows of one task, at most kBlockRows, all of one (sequence, kv head).
struct RowBlock {
  RowState** rows = nullptr;
  std::int64_t count = 0;
  // Filled by load_queries.
  double norm[kBlockRows] = {};
  double quanta[kBlockRows] = {};
  bool special[kBlockRows] = {};
};

/// Decodes k and v of the keys [first, first + count) into the chunk's storage.
void pack_chunk(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head, Chunk& chunk,
                Scratch& scratch);
/// Decodes the queries of the block into scratch.q.
void load_queries(const AttentionProblem& problem, RowBlock& block, Scratch& scratch);
/// Adds the chunk's keys to the sums of the block's rows.
void add_chunk(const AttentionProblem& problem, const AttentionOptions& options, const Chunk& chunk, RowBlock& block,
               Scratch& scratch);
/// The row's balls from its sums: radius +inf where it could not be bounded.
void finish_row(const RowState& state, std::int64_t width, const AttentionTerms& terms, double* o, double* radius,
                Ball& lse, RowCause& cause);

}  // namespace flashproof::attention64
