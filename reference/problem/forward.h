// The forward problems as plain data, and which keys a row sees: softmax, merge and attention. Their tensors and outputs
// are listed in problems.h; semantics of every edge case: README.md beside this file.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/problem/tensor.h"

namespace flashproof {

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

/// What a problem may have beyond the plain form of its kind: of attention q, k, v, scale, causal, key_length, bias and
/// plan, of a merge o, lse, order and form. A kernel that does not say that it takes a feature must refuse it, by this name.
enum class Feature : std::uint8_t { window, softcap, alibi, sink, packed, paged, descale, mixed, unnormalised, joins };
inline constexpr Feature kFeatures[] = {Feature::window,       Feature::softcap, Feature::alibi,   Feature::sink,
                                        Feature::packed,       Feature::paged,   Feature::descale, Feature::mixed,
                                        Feature::unnormalised, Feature::joins};
static_assert(std::size(kFeatures) == static_cast<std::size_t>(Feature::joins) + 1, "each once, the last one last");
std::string_view name(Feature feature);
/// Whether it counts the distances of queries and keys, bottom right.
constexpr bool counts_distances(Feature feature) { return feature == Feature::alibi; }
/// The arguments of a problem without it: "softcap = 0".
std::string_view absence(Feature feature);

/// sum: o = Σ_c e^{lse_c − lse} o_c.  concat: the rescaled blocks e^{lse_c − lse} o_c side by side, block c at
/// columns [c·dv, (c+1)·dv) whatever the order.
enum class MergeForm : std::uint8_t { sum, concat };

/// One join of a merge tree: two states become one. Nodes 0..n-1 are the states in visiting order (node i is state
/// order[i]), node n + k is what join k makes.
struct Join {
  std::int32_t left, right;
  bool operator==(const Join&) const = default;
};

struct MergeProblem {
  Tensor o;    // (n, rows, dv): f32, f16, bf16
  Tensor lse;  // (n, rows): f32
  // (n, rows), f32, >= 0 or NaN where m_c > −inf; no shape = the states are normalised (o_c, lse_c). With it they are
  // (m_c, l_c, O_c): `lse` holds m_c and `o` holds O_c, so that state c stands for the sum of weights l_c e^{m_c} and the
  // output O_c / l_c: lse = ln Σ l_c e^{m_c}, o = Σ e^{m_c − lse} O_c, concat: the blocks e^{m_c − lse} O_c.
  Tensor l;
  std::vector<std::int32_t>
      order;                // permutation of 0..n-1; states are folded left in this order, unless there are joins
  std::vector<Join> joins;  // a tree: n − 1 joins, each node but the last used exactly once, after it is made
  MergeForm form = MergeForm::sum;

  bool operator==(const MergeProblem&) const = default;
  bool has_l() const { return !l.shape.empty(); }
  bool has(Feature feature) const;
  /// In the order of Feature.
  std::vector<Feature> features() const;
  /// The first of them that is not among those taken.
  std::optional<Feature> beyond(std::span<const Feature> taken) const;
};

/// score = cap(scale·q_descale·k_descale·q·k) + bias − slope·|i + Sk − Sq − j| with cap(x) = softcap·tanh(x / softcap), or x
/// without one; o = v_descale·Σ p v. Lengths Sq, Sk and positions i, j are those of the sequence. Causal and window are
/// aligned bottom right.
struct AttentionProblem {
  // f32, f16, bf16, e4m3fn or e5m2, k and v of one format; Hq is a multiple of Hk; query head h reads kv head h·Hk/Hq
  Tensor q, k, v;
  float scale = 1.0F;              // finite; the exact value of this number multiplies q·k
  bool causal = false;             // query i sees key j iff j <= i + Sk − Sq
  std::int32_t window_left = -1;   // >= 0: only keys j >= i + Sk − Sq − window_left
  std::int32_t window_right = -1;  // >= 0: only keys j <= i + Sk − Sq + window_right
  bool top_left = false;           // i in place of i + Sk − Sq, in causal and window: what a foreign kernel may declare
  std::vector<std::int32_t> key_length;  // per sequence, 0..Sk (paged: 0..k_length()); empty = all
  float softcap = 0.0F;                  // 0 = none, else finite and positive; applied before bias and ALiBi
  Tensor bias;                           // f32, added to the scaled score, −inf hides the key; no shape = none
  Tensor alibi;                          // f32 (sequences, Hq) slopes, finite; no shape = none
  Tensor sink;  // f32 (Hq): the score of one more key with v = 0; −inf = none for this head; no shape = none
  // f32 (sequences, Hk), finite, 0 and negative included; no shape = 1. The exact product of scale, q_descale and
  // k_descale multiplies q·k; v_descale multiplies the finished sum: 0 times an infinity is NaN.
  Tensor q_descale, k_descale, v_descale;

  // Packed sequences: q axis 0 is 1, sequence s owns the queries [q_start[s], q_start[s+1]) of axis 2, and k_start alike
  // unless paged. q_start ends with q axis 2; k_start may end before k axis 2. Not together with bias. Empty = none.
  std::vector<std::int32_t> q_start, k_start;
  // Paged keys: k and v are (pages, Hk, page_size, ·). Key j of sequence s lies in page page_table[s·n + j/page_size] at
  // j % page_size, n = pages_per_sequence(). Sk is the sequence's key_length, n·page_size without one: the rest of its
  // pages is room, not keys. Entries of pages wholly beyond it are never read and may hold anything. Empty = none.
  std::vector<std::int32_t> page_table;
  ChunkPlan plan;  // over k_length()

  bool operator==(const AttentionProblem&) const = default;
  bool packed() const { return !q_start.empty(); }
  bool paged() const { return !page_table.empty(); }
  bool has_bias() const { return !bias.shape.empty(); }
  bool has_alibi() const { return !alibi.shape.empty(); }
  /// Whether the distance of query and key adds to a score; whether anything hangs on the place of a key.
  bool counts_distances() const { return has_alibi(); }
  bool positions_matter() const { return causal || window_left >= 0 || window_right >= 0 || counts_distances(); }
  bool has_sink() const { return !sink.shape.empty(); }
  bool has_descale() const { return !q_descale.shape.empty() || !k_descale.shape.empty() || !v_descale.shape.empty(); }
  /// One of the three, of one sequence and kv head; 1 without it.
  static double descale(const Tensor& factors, std::int64_t s, std::int64_t kv) {
    return factors.shape.empty() ? 1.0 : factors.at({s, kv});
  }
  /// Of o: that of q, bf16 where q has 8 bits.
  Format output_format() const { return info(q.format).bits == 8 ? Format::bf16 : q.format; }
  bool has(Feature feature) const;
  bool plain() const { return features().empty(); }
  /// In the order of Feature.
  std::vector<Feature> features() const;
  /// The first of them that is not among those taken.
  std::optional<Feature> beyond(std::span<const Feature> taken) const;

  std::int64_t batch() const { return q.shape[0]; }
  std::int64_t q_heads() const { return q.shape[1]; }
  std::int64_t k_heads() const { return k.shape[1]; }
  std::int64_t head_dim() const { return q.shape[3]; }
  std::int64_t value_dim() const { return v.shape[3]; }
  std::int64_t kv_head(std::int64_t h) const { return h * k_heads() / q_heads(); }
  /// Of the output and of q: all tokens if packed.
  std::int64_t q_length() const { return q.shape[2]; }
  /// Of the longest sequence; paged: the room of each, n·page_size. What the plan and axis 3 of the bias run over.
  std::int64_t k_length() const;

  std::int64_t sequences() const { return packed() ? static_cast<std::int64_t>(q_start.size()) - 1 : batch(); }
  std::int64_t pages_per_sequence() const {
    return sequences() == 0 ? 0 : static_cast<std::int64_t>(page_table.size()) / sequences();
  }
  /// Sq and Sk of one sequence.
  std::int64_t q_length(std::int64_t s) const { return packed() ? q_start[s + 1] - q_start[s] : q.shape[2]; }
  std::int64_t k_length(std::int64_t s) const {
    if (paged()) return key_length.empty() ? k_length() : key_length[s];
    return k_start.empty() ? k.shape[2] : k_start[s + 1] - k_start[s];
  }
  std::int64_t visible_length(std::int64_t s) const { return key_length.empty() ? k_length(s) : key_length[s]; }
  /// Of query i and key j, as ALiBi counts: i + Sk − Sq − j.
  std::int64_t distance(std::int64_t s, std::int64_t i, std::int64_t j) const {
    return i + k_length(s) - q_length(s) - j;
  }
  /// Position only (length, causal, window): query i of sequence s sees the keys [first, last), none if first >= last.
  struct Keys {
    std::int64_t first, last;
  };
  Keys visible_keys(std::int64_t s, std::int64_t i) const;
  /// The key on the diagonal of causal and window, of query 0 of a sequence; negative where there is none.
  std::int64_t first_diagonal(std::int64_t s) const { return top_left ? 0 : k_length(s) - q_length(s); }
  /// A bias of −inf hides a key too, see hidden_by_bias().
  bool position_visible(std::int64_t s, std::int64_t i, std::int64_t j) const {
    const Keys keys = visible_keys(s, i);
    return keys.first <= j && j < keys.last;
  }
  bool hidden_by_bias(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return has_bias() && bias.at({b, h, i, j}) == -std::numeric_limits<double>::infinity();
  }
  /// In elements, of component 0 of query i, and of key or value j, of sequence s and head h of that tensor.
  std::int64_t q_offset(std::int64_t s, std::int64_t h, std::int64_t i) const;
  std::int64_t k_offset(std::int64_t s, std::int64_t h, std::int64_t j) const { return kv_offset(k, s, h, j); }
  std::int64_t v_offset(std::int64_t s, std::int64_t h, std::int64_t j) const { return kv_offset(v, s, h, j); }
  /// The row of o and lse.
  std::int64_t output_row(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return packed() ? h * q_length() + q_start[s] + i : (s * q_heads() + h) * q_length() + i;
  }

 private:
  std::int64_t kv_offset(const Tensor& tensor, std::int64_t s, std::int64_t h, std::int64_t j) const;
};

/// Limits of validate(). Offsets into an output, and a row's key index, fit an int32.
inline constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 31) - 1;  // of one axis, and of an output's elements
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;      // of one input tensor
inline constexpr std::int64_t kMaxHeadDim = 65536;                       // d and dv

/// Throws UsageError naming the first argument that does not fit and its legal range. An axis may have length 0 except
/// the heads, d, dv and the number of states.
void validate(const SoftmaxProblem& problem);
void validate(const MergeProblem& problem);
void validate(const AttentionProblem& problem);

}  // namespace flashproof
