// Packing: keys, values and queries to doubles in the order in which the tiles read them, with the norms that the radii
// and the exactness certificate need. To be included from a file that foreach_target.h compiles once per target.

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag()));

/// The n components from element `offset` on, then zeros up to `padded`.
HWY_INLINE void decode_vector(const Tensor& tensor, std::int64_t offset, std::int64_t n, std::int64_t padded,
                              double* to) {
  const std::int64_t stride = tensor.stride.back();
  switch (tensor.format) {
    case Format::f32:
      flashproof::HWY_NAMESPACE::decode_run<Format::f32>(tensor, offset, stride, n, to);
      break;
    case Format::f16:
      flashproof::HWY_NAMESPACE::decode_run<Format::f16>(tensor, offset, stride, n, to);
      break;
    case Format::e4m3fn:
      flashproof::HWY_NAMESPACE::decode_run<Format::e4m3fn>(tensor, offset, stride, n, to);
      break;
    case Format::e5m2:
      flashproof::HWY_NAMESPACE::decode_run<Format::e5m2>(tensor, offset, stride, n, to);
      break;
    default:
      flashproof::HWY_NAMESPACE::decode_run<Format::bf16>(tensor, offset, stride, n, to);
      break;
  }
  std::fill(to + n, to + padded, 0.0);
}

struct VectorSize {
  double norm, quanta;
  bool special;
};

/// ‖x‖ and ‖x‖/2^t from above, 2^t the lowest set bit among the components that are not 0. NaN and ±inf become 0.
/// The squares of f32 numbers are exact or round by u and do not underflow, so the sum over `padded` <= 2^16 of them has a
/// relative error below 2^-36, the root halves it: 1 + 2^-30 covers it and the last roundings. 2^t is a power of two: the
/// division is exact.
HWY_INLINE VectorSize measure(double* x, std::int64_t padded) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto zero = hn::Zero(d);
  const auto fraction = hn::Set(du, (std::uint64_t{1} << 52) - 1);
  const auto one = hn::Set(du, 1);
  HWY_ALIGN double squares[8] = {};
  auto lowest = infinity;
  auto finite = hn::Eq(zero, zero);
  for (std::int64_t l = 0; l < padded; l += 8) {
    for (std::int64_t part = 0; part < 8; part += kLanes) {
      const auto value = hn::Load(d, x + l + part);
      auto size = hn::Abs(value);
      const auto ok = hn::Lt(size, infinity);
      finite = hn::And(finite, ok);
      size = hn::IfThenElseZero(ok, size);
      hn::Store(hn::IfThenElseZero(ok, value), d, x + l + part);
      hn::Store(hn::MulAdd(size, size, hn::Load(d, squares + part)), d, squares + part);
      // x & (x − 1) clears the lowest set bit of the fraction; the difference is that bit. Without one it is the hidden
      // bit, x itself. No f32 number is a subnormal double.
      const auto bits = hn::BitCast(du, size);
      const auto cleared = hn::BitCast(d, hn::And(bits, hn::Sub(bits, one)));
      const auto power = hn::Eq(hn::BitCast(d, hn::And(bits, fraction)), zero);
      const auto low = hn::IfThenElse(power, size, hn::Sub(size, cleared));
      lowest = hn::Min(lowest, hn::IfThenElse(hn::Eq(size, zero), infinity, low));
    }
  }
  HWY_ALIGN double lane[kLanes];
  hn::Store(lowest, d, lane);
  const double quantum = *std::min_element(lane, lane + kLanes);
  for (int half = 4; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) squares[i] += squares[i + half];
  }
  const double norm = std::sqrt(squares[0]) * (1 + 0x1p-30);
  return {norm, norm / quantum, !hn::AllTrue(d, finite)};  // a zero vector: 0 / inf = 0
}

/// [16][stride] to [depth][16].
HWY_INLINE void transpose_panel(const double* from, std::int64_t stride, std::int64_t depth, double* HWY_RESTRICT to) {
  for (std::int64_t l = 0; l < depth; ++l, to += kPanel) {
    for (std::int64_t j = 0; j < kPanel; ++j) to[j] = from[j * stride + l];
  }
}

HWY_INLINE void pack_keys(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head, Chunk& chunk,
                          double* rows) {
  const std::int64_t depth = problem.head_dim();
  const std::int64_t stride = round_up(depth, 8);
  for (std::int64_t panel = 0; panel < chunk.capacity; panel += kPanel) {
    for (std::int64_t i = 0; i < kPanel; ++i) {
      const std::int64_t j = panel + i;
      double* const row = rows + i * stride;
      VectorSize size{0, 0, false};
      if (j < chunk.count) {
        decode_vector(problem.k, problem.k_offset(sequence, kv_head, chunk.first + j), depth, stride, row);
        size = measure(row, stride);
      } else {
        std::fill(row, row + stride, 0.0);
      }
      chunk.k_norm[j] = size.norm;
      chunk.k_quanta[j] = size.quanta;
      chunk.flags[j] = size.special ? Chunk::kSpecialKey : 0;
      chunk.special = chunk.special || size.special;
    }
    transpose_panel(rows, stride, depth, chunk.k + panel * depth);
  }
}

HWY_INLINE void pack_values(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head, Chunk& chunk,
                            double* row) {
  const Tag d;
  const hn::Rebind<float, Tag> df;
  const hn::RebindToUnsigned<Tag> du;
  const std::int64_t width = problem.value_dim();
  const std::int64_t padded = round_up(width, kPanel);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  std::fill(chunk.v_largest, chunk.v_largest + padded, 0.0);
  std::fill(row, row + padded, 0.0);
  for (std::int64_t j = 0; j < chunk.capacity; ++j) {
    if (j < chunk.count) {
      decode_vector(problem.v, problem.v_offset(sequence, kv_head, chunk.first + j), width, padded, row);
    } else {
      std::fill(row, row + padded, 0.0);
    }
    auto finite = hn::Eq(infinity, infinity);
    for (std::int64_t c = 0; c < padded; c += kLanes) {
      const auto value = hn::Load(d, row + c);
      const auto size = hn::Abs(value);
      const auto ok = hn::Lt(size, infinity);
      finite = hn::And(finite, ok);
      double* const to = chunk.v + c / kPanel * kPanel * chunk.capacity + j * kPanel + c % kPanel;
      hn::Store(hn::IfThenElseZero(ok, value), d, to);
      const auto largest = hn::Load(d, chunk.v_largest + c);
      hn::Store(hn::Max(largest, hn::IfThenElseZero(ok, size)), d, chunk.v_largest + c);
    }
    if (!hn::AllTrue(d, finite)) {
      chunk.flags[j] |= Chunk::kSpecialValue;
      chunk.special = true;
    }
  }
  // Scales: 2^e <= largest < 2^(e + 1) goes to 2^40; entries of the other factor carry 2^40 too.
  const auto exponent = hn::Set(du, std::uint64_t{0x7ff} << 52);
  for (std::int64_t c = 0; c < padded; c += kLanes) {
    const auto largest = hn::Load(d, chunk.v_largest + c);
    const auto empty = hn::Eq(largest, hn::Zero(d));
    const auto power =
        hn::IfThenElse(empty, hn::Set(d, 1.0), hn::BitCast(d, hn::And(hn::BitCast(du, largest), exponent)));
    hn::Store(hn::Mul(power, hn::Set(d, 0x1p-80)), d, chunk.v_unscale + c);
    const auto scale = hn::Div(hn::Set(d, 0x1p40), power);
    const std::int64_t base = c / kPanel * kPanel * chunk.capacity + c % kPanel;
    for (std::int64_t j = 0; j < chunk.capacity; ++j) {
      const auto value = hn::Load(d, chunk.v + base + j * kPanel);
      hn::Store(hn::DemoteTo(df, hn::Mul(hn::Abs(value), scale)), df, chunk.v_size + base + j * kPanel);
    }
  }
}

inline void pack_chunk(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head, Chunk& chunk,
                       Scratch& scratch) {
  chunk.special = false;
  pack_keys(problem, sequence, kv_head, chunk, scratch.keys);
  pack_values(problem, sequence, kv_head, chunk, scratch.keys);
}

inline void load_queries(const AttentionProblem& problem, RowBlock& block, Scratch& scratch) {
  const std::int64_t depth = problem.head_dim();
  const std::int64_t stride = round_up(depth, 8);
  for (std::int64_t r = 0; r < block.count; ++r) {
    double* const q = scratch.q + r * stride;
    const AttentionRow& row = block.rows[r]->row;
    decode_vector(problem.q, problem.q_offset(row.sequence, row.head, row.query), depth, stride, q);
    const VectorSize size = measure(q, stride);
    block.norm[r] = size.norm;
    block.quanta[r] = size.quanta;
    block.special[r] = size.special;
  }
  std::fill(scratch.q + block.count * stride, scratch.q + round_up(block.count, kGroup) * stride, 0.0);
}

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
