// Everything of a problem but its numbers: extents, strides, chunk plan, order, lengths, causal, scale, merge form.
//
// One rule for all families: a key of the spec beats the family's own wish (ShapeWish), which beats the draw. The draws
// do not look at the format, so that changing only the format keeps every extent, stride, boundary and order. All
// tensors come back full of 0xff (NaN); what a family does not write, no correct kernel may let show.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/problem/case.h"
#include "reference/problem/random.h"

namespace flashproof {

/// What a family asks of the shape. "length" is what the chunks divide: columns, states, or keys.
struct ShapeWish {
  std::optional<std::int64_t> rows = {};    // softmax and merge: rows; attention: sq
  std::optional<std::int64_t> length = {};  // cols, n, sk
  std::optional<std::int64_t> chunk = {};   // uniform chunks of this size
  std::int64_t min_length = 0;              // the hazard needs at least so many; a shorter key value is an error
  int min_chunks = 0;
  int exact_chunks = 0;                           // 0 = free; a chunk key beats it
  std::optional<std::uint64_t> order_index = {};  // default: the seed
  std::int64_t min_head_dim = 1;
  double causal_chance = 0;
  double ragged_chance = 0;     // row_length / key_length present, each row or batch its own, now and then 0
  double bias_chance = 0;       // attention: an f32 bias, to be filled by the family
  bool exact_scale = false;     // attention: a power of two, so that planted logits are rounded only once
  bool eight_bits = false;      // attention: k and v are e4m3fn or e5m2, whatever q is; the key kv_format is legal
  bool takes_descale = false;   // attention: the key descale is legal, for the family to read
  bool takes_features = false;  // attention: the same of the key features
  std::optional<std::int64_t> head_dim = {}, value_dim = {};  // attention
  std::optional<std::int64_t> q_heads = {}, k_heads = {};     // attention, both or none
  bool packed = false;  // attention: 2..4 sequences (key b) one after another, now and then an empty one
  bool paged = false;   // attention: keys in pages of 1, 16, 64 or 256 slots, the last of a sequence partly used
  std::optional<std::int64_t> page = {};  // paged: slots of a page
  // attention, of sequences that differ: the first ends with a tile of 128 keys, the last has all queries, and all keys but one
  bool edge_lengths = false;
  bool page_edges = false;  // paged: lengths one before, at and one after a multiple of the page, and 1
};

/// The problem of this spec with every element still poison. Throws UsageError naming the key and its legal range.
Problem draw_shape(const CaseSpec& spec, const ShapeWish& shape);

/// The stream for the numbers of a case; disjoint from the one that draw_shape uses, different for every family.
Random value_stream(const CaseSpec& spec);

/// Sequences begin with the pages of an earlier one, as with a cache of prefixes, often with as many as both have: of the last one they may
/// use different parts. Of the other pages some are any that it or an earlier one has, at another place.
void share_pages(AttentionProblem& problem, Random& random);

/// A tensor of these extents, full of poison. dense: row-major. transposed: the last two axes change places in memory.
/// padded: rows `pad` elements further apart than they are long, and with four axes the sequence outside the heads,
/// (b, s, h, d), as most frameworks store them.
Tensor with_layout(std::string_view layout, std::int64_t pad, Format format, std::vector<std::int64_t> extents);

/// Throws UsageError naming the key where the product is above kMaxCaseElements.
void require_product(const char* key, const char* product, std::initializer_list<std::int64_t> factors);

/// The bias of this problem, created (dense, full of poison) where it has none.
Tensor& bias_of(AttentionProblem& problem);

}  // namespace flashproof
