// How hard a case is, measured on its tensors in double: what a family promises (Promise) and what the coverage counters
// count. Everything is a number, so that a promise can name any of it; shares are of 1, logits and their differences in
// natural units (nats), and a field says over what it is taken. Of a merge a state is a key and a chunk of its own.
#pragma once

#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

struct Difficulty {
  // What rows see.
  double rows = 0;           // of the output
  double keys = 0;           // seen by a row, the most
  double hidden_share = 0;   // of all pairs of a row and a key
  double empty_rows = 0;     // share of rows that see no key
  double lone_rows = 0;      // share of rows that see exactly one
  double first_hidden = 0;   // share of rows that see a key, but none of the chunk visited first
  double middle_hidden = 0;  // the same for some chunk neither first nor last
  double last_hidden = 0;    // the same for the chunk visited last
  double partial_tiles = 0;  // rows that end inside a chunk, or with a last one shorter than the longest
  double tile_edges = 0;     // share of rows with a length of 1, or within 1 of a multiple of the first chunk's

  // Logits, visible and finite ones.
  double spread = 0;         // max − min, the largest over rows
  double deviation = 0;      // standard deviation of a row, the median over rows of two keys and more
  double largest_logit = 0;  // magnitude
  double highest_maximum = -std::numeric_limits<double>::infinity();  // the largest maximum of a row
  double log_sum = -std::numeric_limits<double>::infinity();          // ln Σ e^s, the largest over rows
  double ties = 0;                                                    // keys at exactly the row's maximum, the most
  double top_gap = std::numeric_limits<double>::infinity();  // (first − second) / max(1, |first|), the median over rows
  double sentinel_gap = std::numeric_limits<double>::infinity();  // |s − σ| / |σ| to the nearest of the sentinels σ
  double below_sentinel = 0;                                      // share of rows wholly below −10^4
  double saturation = 0;                                          // the largest |score| / softcap

  // Logits in the order of the visit.
  double block_spread = 0;      // max − min of the chunks' maxima, the largest over rows
  double rises = 0;             // times a chunk raises the running maximum, the most
  double rising_keys = 0;       // share of keys behind the first that raise it, the median over rows
  double first_is_max = 0;      // share of rows of two chunks and more whose maximum stands in the first
  double rescales_taken = 0;    // with a lazy frame of 8 octaves: rises that move it, the most
  double rescales_skipped = 0;  // rises that leave it
  // Rises above a lazy frame beside its threshold T, of any of kRescaleThresholds: the least |rise − T| / T on each side.
  double threshold_below = std::numeric_limits<double>::infinity();  // rises that leave it
  double threshold_above = std::numeric_limits<double>::infinity();  // rises that move it
  double lse_gap = 0;  // |difference| of the lse of two chunks one after the other, the largest

  // Sums.
  double condition = 1;     // attention: Σ|q_t k_t| / |Σ q_t k_t|, the median over visible pairs
  double cancellation = 1;  // Σ p|v| / |Σ p v|, the median over rows and columns
  double one_signed = 0;    // share of rows and columns whose visible v have one sign, two of them not 0 at least

  // Stored numbers: of x, of o and lse, or of q, k and v, but for NaN.
  double subnormal_share = 0;  // subnormal in their format, 0 left out
  double near_max_share = 0;   // at least half of the largest finite number, infinities left out
  double visible_nans = 0;     // share of rows that see a NaN in a score or in v
  double visible_infs = 0;     // share of rows that see a score of +inf or an infinity in v
  double hidden_nans = 0;      // keys (or x) with a NaN that some row must not look at, storage without a key included
  double hidden_infs = 0;      // the same with an infinity

  // Shape.
  double chunks = 0;
  double permuted = 0;         // chunks out of their place
  double joins = 0;            // of a merge tree
  double group = 1;            // query heads per kv head
  double sequences = 0;        // packed ones
  double empty_sequences = 0;  // packed ones without queries or without keys
  double page_size = 0;
  double partial_pages = 0;      // sequences whose last page is partly used
  double page_edges = 0;         // share of sequences one key before, at or after the end of a page
  double shared_pages = 0;       // entries of the page table that lead to a page that another one leads to
  double moved_pages = 0;        // of those: at another place of its sequence there
  double padding = 0;            // elements of storage that belong to no element of a tensor
  double broadcast = 0;          // axes of stride 0 with two elements and more
  double overlap = 0;            // 1 if elements of a tensor share storage without a stride of 0
  double kv_equal = 0;           // 1 if k and v hold the same numbers
  double features = 0;           // of attention or merge (Feature)
  double slope = 0;              // the largest |ALiBi slope|
  double sinks = 0;              // share of heads with a finite sink
  double sink_beside_empty = 0;  // share of rows with a finite sink whose first chunk is hidden
  double descale = 0;            // share of sequences and kv heads with a factor other than 1
  double least_bits = 0;         // of the storage formats
  double odd_dims = 0;           // 1 if d or dv is no multiple of 4, or above 64
};

Difficulty difficulty(const Problem& problem);

/// Finite numbers that kernels take for minus infinity.
inline constexpr double kSentinels[] = {-1e4, -3e4, -5e4, -65504, -1e9, -0x1.fffffep127};
/// Rises up to which kernels leave the frame of a lazy rescale, in nats: 8 and 4 octaves, 8, 4 and 1, an octave, and the
/// head-room of P in f16 (ln 65504) and e4m3fn (ln 448).
inline constexpr double kRescaleThresholds[] = {8 * std::numbers::ln2, 8, 4 * std::numbers::ln2, 4,
                                                std::numbers::ln2,     1, 11.089866488461016,    6.104793232414985};

struct DifficultyField {
  std::string_view name;
  double Difficulty::* field;
};
/// Every field with its name, in the order of the struct.
std::span<const DifficultyField> difficulty_fields();

/// What a family keeps in at least this share of its cases, for each of its problems (or the one named).
struct Promise {
  double Difficulty::* field;
  double at_least = -std::numeric_limits<double>::infinity();
  double at_most = std::numeric_limits<double>::infinity();
  double share = 1;
  std::optional<ProblemKind> only = {};

  bool kept(const Difficulty& measured) const { return measured.*field >= at_least && measured.*field <= at_most; }
};

}  // namespace flashproof
