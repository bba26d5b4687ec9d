// One chunk of keys for one block of rows: products, weights, products, and the update of the rows' sums. To be included
// from a file that foreach_target.h compiles once per target.

#include <algorithm>

#include "hwy/highway.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/row_step-inl.h"
#include "reference/oracle/fp64/vector/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// N and its radius take the chunk's products.
HWY_INLINE void add_products(const Chunk& chunk, const RowStep& step, const double* sums, const float* sizes,
                             std::int64_t padded, const AttentionTerms& terms, RowState& state) {
  const Tag d;
  const hn::Rebind<float, Tag> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto chunks = hn::Set(d, terms.chunks);
  const auto floor = hn::Set(d, step.floor);
  const auto tiny = hn::Set(d, step.tiny * kInflation);
  // Each float operation rounds by 2^-24: chunk.capacity FMAs and additions, the entry, |v| and this line.
  const auto grow = hn::Set(d, (1.0 + static_cast<double>(chunk.capacity + 8) * 0x1p-23) * kInflation);
  for (std::int64_t c = 0; c < padded; c += lanes) {
    const auto before = hn::Load(d, state.o + c);
    auto rest = before;
    const auto sum = two_sum(before, hn::Load(d, sums + c), rest);
    hn::Store(sum, d, state.o + c);
    const auto size = hn::MulAdd(hn::PromoteTo(d, hn::Load(df, sizes + c)), grow, floor);
    auto radius = hn::MulAdd(chunks, hn::Abs(rest), hn::Load(d, state.radius + c));
    radius = hn::MulAdd(size, hn::Load(d, chunk.v_unscale + c), radius);
    radius = hn::MulAdd(tiny, hn::Load(d, chunk.v_largest + c), radius);
    hn::Store(radius, d, state.radius + c);
  }
}

/// The keys of the chunk that some row of the block sees, in whole blocks of kTerms; none where first >= last.
inline KeySpan keys_of_block(const Chunk& chunk, const RowBlock& block) {
  KeySpan all{chunk.count, 0};
  for (std::int64_t r = 0; r < block.count; ++r) {
    const KeySpan keys = keys_in(chunk, *block.rows[r]);
    if (keys.first >= keys.last) continue;
    all.first = std::min(all.first, keys.first);
    all.last = std::max(all.last, keys.last);
  }
  if (all.first >= all.last) return all;
  return {all.first / kTerms * kTerms, round_up(all.last, kTerms)};
}

/// scores = q·k of these keys, for whole groups of rows.
inline void multiply_keys(const Chunk& chunk, std::int64_t depth, std::int64_t rows, KeySpan keys, Scratch& scratch) {
  const std::int64_t stride = round_up(depth, 8);
  const std::int64_t row_pitch = pitch(chunk.capacity);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::fill(scratch.scores + r * row_pitch + keys.first, scratch.scores + r * row_pitch + keys.last, 0.0);
  }
  for (std::int64_t panel = keys.first; panel < keys.last; panel += kPanel) {
    for (std::int64_t r = 0; r < rows; r += kGroup) {
      for (std::int64_t l = 0; l < depth; l += kTerms) {
        double_tile(scratch.q + r * stride + l, stride, chunk.k + panel * depth + l * kPanel,
                    std::min(kTerms, depth - l), scratch.scores + r * row_pitch + panel, row_pitch);
      }
    }
  }
}

/// Blocks of keys that row r does not touch take part in the products all the same, as zeros. `touched`: none of a row without weights.
inline void clear_untouched(const Chunk& chunk, std::int64_t r, KeySpan touched, KeySpan keys, Scratch& scratch) {
  double* const weights = scratch.scores + r * pitch(chunk.capacity);
  float* const entries = scratch.entries + r * pitch(chunk.capacity);
  std::fill(weights + keys.first, weights + touched.first, 0.0);
  std::fill(weights + touched.last, weights + keys.last, 0.0);
  std::fill(entries + keys.first, entries + touched.first, 0.0F);
  std::fill(entries + touched.last, entries + keys.last, 0.0F);
}

/// sums = w·v and sizes = entries·|v| of these keys, for whole groups of rows.
inline void multiply_values(const Chunk& chunk, std::int64_t padded, std::int64_t rows, KeySpan keys,
                            Scratch& scratch) {
  const std::int64_t capacity = chunk.capacity;
  const std::int64_t row_pitch = pitch(capacity);
  const std::int64_t sum_pitch = pitch(padded);
  std::fill(scratch.sums, scratch.sums + rows * sum_pitch, 0.0);
  std::fill(scratch.sizes, scratch.sizes + rows * sum_pitch, 0.0F);
  for (std::int64_t j = keys.first; j < keys.last; j += kTerms) {
    for (std::int64_t c = 0; c < padded; c += kPanel) {
      for (std::int64_t r = 0; r < rows; r += kGroup) {
        double_tile(scratch.scores + r * row_pitch + j, row_pitch, chunk.v + c * capacity + j * kPanel, kTerms,
                    scratch.sums + r * sum_pitch + c, sum_pitch);
      }
    }
    for (std::int64_t c = 0; c < padded; c += 2 * kPanel) {
      const bool two = c + kPanel < padded;
      for (std::int64_t r = 0; r < rows; r += kGroup) {
        float_tile(scratch.entries + r * row_pitch + j, row_pitch, chunk.v_size + c * capacity + j * kPanel,
                   kPanel * capacity, two, kTerms, scratch.sizes + r * sum_pitch + c, sum_pitch);
      }
    }
  }
}

inline void add_chunk(const AttentionProblem& problem, const AttentionOptions& options, const Chunk& chunk,
                      RowBlock& block, Scratch& scratch) {
  const std::int64_t padded = round_up(problem.value_dim(), kPanel);
  const std::int64_t sum_pitch = pitch(padded);
  const std::int64_t rows = round_up(block.count, kGroup);
  const KeySpan keys = keys_of_block(chunk, block);
  if (keys.first >= keys.last) return;

  multiply_keys(chunk, problem.head_dim(), rows, keys, scratch);
  RowStep steps[kBlockRows];
  for (std::int64_t r = 0; r < rows; ++r) {
    if (r < block.count) steps[r].active = weigh_row(problem, options, chunk, block, r, scratch, padded, steps[r]);
    KeySpan touched{keys.last, keys.last};
    if (r < block.count && steps[r].active) {
      const KeySpan seen = keys_in(chunk, *block.rows[r]);
      touched = {seen.first / kTerms * kTerms, round_up(seen.last, kTerms)};
    }
    clear_untouched(chunk, r, touched, keys, scratch);
  }
  multiply_values(chunk, padded, rows, keys, scratch);
  for (std::int64_t r = 0; r < block.count; ++r) {
    if (!steps[r].active) continue;
    add_products(chunk, steps[r], scratch.sums + r * sum_pitch, scratch.sizes + r * sum_pitch, padded, options.terms,
                 *block.rows[r]);
  }
}

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
