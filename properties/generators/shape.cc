#include "properties/generators/shape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "properties/generators/family.h"
#include "properties/generators/keys.h"
#include "properties/generators/numbers.h"
#include "properties/generators/plan.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using Extents = std::vector<std::int64_t>;

// The exact oracle costs about 1 us a multiply-add and 6 us an exponential; a drawn case stays near 30 ms.
constexpr std::int64_t kTruthBudget = 28'000;
constexpr std::int64_t kExpCost = 6;

enum class Purpose : std::uint64_t { shape, values };

// FNV-1a of the family name: two families at the same seed get different shapes and numbers.
Random stream(const CaseSpec& spec, Purpose purpose) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : spec.family) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return {spec.seed, (hash << 8) + static_cast<std::uint64_t>(spec.problem) * 16 + static_cast<std::uint64_t>(purpose)};
}

Format drawn_format(const CaseSpec& spec) { return *parse_format(text_key(spec, "format").value_or("f32")); }

struct Layout {
  std::string kind;
  std::int64_t pad;

  Tensor make(Format format, Extents extents) const { return with_layout(kind, pad, format, std::move(extents)); }
};

Layout drawn_layout(const CaseSpec& spec, Random& random) {
  const std::int64_t dice = random.integer(0, 9);
  const char* drawn = dice < 6 ? "dense" : dice < 8 ? "padded" : "transposed";
  return {text_key(spec, "layout").value_or(drawn), random.integer(1, 3)};
}

void require_length(const CaseSpec& spec, const char* key, std::int64_t length, std::int64_t least) {
  if (length < least) {
    throw UsageError("key " + std::string(key) + ": " + std::to_string(length) + ", must be at least " +
                     std::to_string(least) + " for family " + spec.family);
  }
}

// One of the list that is at least `least`; the list ends with one that always is, or the answer is `least` itself.
std::int64_t pick_length(Random& random, std::span<const std::int64_t> list, std::int64_t least) {
  std::vector<std::int64_t> fitting;
  for (const std::int64_t length : list) {
    if (length >= least) fitting.push_back(length);
  }
  const std::int64_t at = random.integer(0, std::max<std::int64_t>(static_cast<std::int64_t>(fitting.size()) - 1, 0));
  return fitting.empty() ? least : fitting[static_cast<std::size_t>(at)];
}

ChunkPlan draw_plan(const CaseSpec& spec, const ShapeWish& shape, Random& random, std::int64_t length,
                    std::span<const std::int64_t> sizes) {
  const std::int64_t drawn = sizes[static_cast<std::size_t>(random.integer(0, std::ssize(sizes) - 1))];
  const bool irregular = random.chance(0.4);
  const auto key = integer_key(spec, "chunk");
  const std::int64_t least = std::max(shape.min_chunks, 1);
  ChunkPlan plan;
  if (key || shape.chunk) {
    plan.boundary = draw_boundaries(random, length, key ? *key : *shape.chunk, false);
  } else if (shape.exact_chunks > 0 && length >= shape.exact_chunks) {
    plan.boundary = draw_cuts(random, length, shape.exact_chunks);
  } else {
    const std::int64_t longest = std::max<std::int64_t>(length / least, 1);
    plan.boundary = draw_boundaries(random, length, std::min(drawn, longest), irregular);
  }
  const auto chunks = static_cast<int>(plan.boundary.size()) - 1;
  if (length > 0 && chunks < least) {
    throw UsageError("key chunk: " + std::to_string(key.value_or(0)) + " is out of range, must be 1.." +
                     std::to_string((length - 1) / (least - 1)) + " for at least " + std::to_string(least) +
                     " chunks of " + std::to_string(length) + " (family " + spec.family + ")");
  }
  plan.order = draw_order(random, chunks, shape.order_index.value_or(spec.seed), text_key(spec, "order"));
  return plan;
}

std::vector<std::int32_t> draw_lengths(const ShapeWish& shape, Random& random, std::int64_t count,
                                       std::int64_t longest) {
  const bool ragged = random.chance(shape.ragged_chance);
  if (!ragged || count > kMaxCaseElements) return {};
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool empty = random.chance(0.1);
    const std::int64_t length = random.integer(std::min<std::int64_t>(1, longest), longest);
    lengths.push_back(static_cast<std::int32_t>(empty ? 0 : length));
  }
  return lengths;
}

SoftmaxProblem draw_softmax(const CaseSpec& spec, const ShapeWish& shape, Random& random) {
  // The block kernel of seed 004 takes multiples of 512 only: nearly half of the cases are 512 or 1024 wide.
  constexpr std::int64_t kCols[] = {1, 2, 3, 31, 32, 33, 127, 128, 129, 255, 256, 511, 513, 1000, 1025, 1536};
  constexpr std::int64_t kChunks[] = {16, 32, 48, 64, 100, 128, 200, 256, 1024};
  const Layout layout = drawn_layout(spec, random);
  const std::int64_t drawn_rows = random.integer(1, 4);
  const bool block = random.chance(0.45);
  const bool wide = random.chance(0.5);
  const std::int64_t drawn_cols = pick_length(random, kCols, shape.min_length);
  std::int64_t cols = block ? (wide ? 1024 : 512) : drawn_cols;
  if (is_costly(spec)) cols = spec.seed % 2 == 0 ? 9001 : 20'000;  // beyond what a block holds at once
  cols = integer_key(spec, "cols").value_or(shape.length.value_or(cols));
  const std::int64_t affordable =
      std::max<std::int64_t>(kTruthBudget / (kExpCost * std::max<std::int64_t>(cols, 1)), 1);
  const std::int64_t drawn_or_few = is_costly(spec) ? 2 : std::min(drawn_rows, affordable);
  const std::int64_t rows = integer_key(spec, "rows").value_or(shape.rows.value_or(drawn_or_few));
  require_length(spec, "cols", cols, shape.min_length);
  require_product("cols", "rows * cols", {rows, cols});

  SoftmaxProblem problem;
  problem.x = layout.make(drawn_format(spec), {rows, cols});
  problem.plan = draw_plan(spec, shape, random, cols, kChunks);
  problem.row_length = draw_lengths(shape, random, rows, cols);
  return problem;
}

MergeProblem draw_merge(const CaseSpec& spec, const ShapeWish& shape, Random& random) {
  const Layout layout = drawn_layout(spec, random);
  const std::int64_t least = std::max<std::int64_t>({shape.min_length, shape.min_chunks, 1});
  const bool two = random.chance(0.4);
  const std::int64_t several = random.integer(least, std::max<std::int64_t>(8, least));
  const std::int64_t drawn_rows = random.integer(1, 4);
  const std::int64_t drawn_dv = random.integer(1, 33);
  const bool concat = random.chance(0.4);
  const std::int64_t wished = shape.exact_chunks > 0 ? shape.exact_chunks : two && least <= 2 ? 2 : several;
  const std::int64_t n = integer_key(spec, "n").value_or(shape.length.value_or(wished));
  const std::int64_t rows = integer_key(spec, "rows").value_or(shape.rows.value_or(drawn_rows));
  const std::int64_t dv = integer_key(spec, "dv").value_or(drawn_dv);
  require_length(spec, "n", n, least);
  require_product("dv", "n * rows * dv", {n, rows, dv});

  MergeProblem problem;
  problem.o = layout.make(drawn_format(spec), {n, rows, dv});
  problem.lse = layout.make(Format::f32, {n, rows});
  problem.form =
      text_key(spec, "form").value_or(concat ? "concat" : "sum") == "concat" ? MergeForm::concat : MergeForm::sum;
  problem.order =
      draw_order(random, static_cast<int>(n), shape.order_index.value_or(spec.seed), text_key(spec, "order"));
  return problem;
}

struct Heads {
  std::int64_t b, hq, hk;
};

Heads draw_heads(const CaseSpec& spec, const ShapeWish& shape, Random& random, std::int64_t row_cost) {
  constexpr Heads kHeads[] = {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {1, 2, 1}};
  Heads heads = pick(random, kHeads);
  if (2 * row_cost > kTruthBudget) heads = {1, 1, 1};
  if (shape.q_heads) heads = {1, *shape.q_heads, *shape.k_heads};
  if (shape.packed) {
    heads.b = random.integer(2, 4);
    if (!shape.q_heads && heads.b * heads.hq * row_cost > kTruthBudget) heads = {2, 1, 1};
  }
  heads.b = integer_key(spec, "b").value_or(heads.b);
  const auto hq = integer_key(spec, "hq"), hk = integer_key(spec, "hk");
  if (hq && hk && *hq % *hk != 0) {
    throw UsageError("key hk: " + std::to_string(*hk) + " must divide hq = " + std::to_string(*hq));
  }
  if (hq || hk) {
    const bool grouped = heads.hk < heads.hq;
    heads.hk = hk ? *hk : (grouped ? 1 : *hq);
    heads.hq = hq ? *hq : heads.hk * (grouped ? 2 : 1);
  }
  return heads;
}

float draw_scale(const CaseSpec& spec, const ShapeWish& shape, Random& random, std::int64_t d) {
  constexpr double kExact[] = {0.5, 0.25, 1, 1, 2};
  const double exact = pick(random, kExact);
  const double other = random.uniform(-1.5, 1.5);
  const std::int64_t dice = random.integer(0, 19);
  double scale = 1 / std::sqrt(static_cast<double>(d));
  if (dice >= 14) scale = 1;
  if (dice >= 17) scale = other;
  if (dice == 19) scale = 0;
  if (shape.exact_scale) scale = exact;
  return static_cast<float>(round_to(Format::f32, number_key(spec, "scale").value_or(scale)));
}

/// Of k and v.
Format draw_kv_format(const CaseSpec& spec, const ShapeWish& shape, Random& random) {
  const auto key = text_key(spec, "kv_format");
  if (!shape.eight_bits) {
    if (key) throw UsageError("key kv_format: family " + spec.family + " has one format, legal only for mixed_fp8");
    return drawn_format(spec);
  }
  const Format drawn = random.chance(0.6) ? Format::e4m3fn : Format::e5m2;
  return key ? *parse_format(*key) : drawn;
}

// Sequences of 0..longest elements, one after another.
std::vector<std::int32_t> draw_starts(Random& random, std::int64_t sequences, std::int64_t longest, bool long_last) {
  std::vector<std::int32_t> start{0};
  for (std::int64_t s = 0; s < sequences; ++s) {
    const bool empty = random.chance(0.2);
    const std::int64_t length = random.integer(std::min<std::int64_t>(1, longest), longest);
    const std::int64_t all = long_last && s + 1 == sequences ? longest : empty ? 0 : length;
    start.push_back(start.back() + static_cast<std::int32_t>(all));
  }
  return start;
}

// Axes 0 and 2 of k and v.
struct KeyAxes {
  std::int64_t outer, length;
};

// Keys of a paged sequence that has room for sk.
std::int64_t draw_paged_length(Random& random, std::int64_t sk, std::int64_t page, bool at_edges) {
  const bool empty = random.chance(0.1);
  const std::int64_t anywhere = random.integer(std::min<std::int64_t>(1, sk), sk);
  if (!at_edges) return empty ? 0 : anywhere;
  const std::int64_t pages = random.integer(0, sk / page);
  const std::int64_t off = random.integer(-1, 1);
  return std::clamp<std::int64_t>(pages == 0 ? 1 : pages * page + off, std::min<std::int64_t>(1, sk), sk);
}

/// `room`: of each sequence.
void set_edge_lengths(std::vector<std::int32_t>& lengths, const auto& room) {
  constexpr std::int64_t kTile = 128;
  if (lengths.empty()) return;
  if (room(0) > kTile) lengths.front() = static_cast<std::int32_t>((room(0) - 1) / kTile * kTile);
  lengths.back() = static_cast<std::int32_t>(std::max<std::int64_t>(room(lengths.size() - 1) - 1, 0));
}

// A pool with a few pages more than are used, in any order. Entries of pages without a key point nowhere.
KeyAxes draw_pages(const ShapeWish& shape, Random& random, std::int64_t sequences, std::int64_t sk,
                   AttentionProblem& problem) {
  constexpr std::int64_t kPageSizes[] = {1, 1, 16, 16, 64, 256};
  constexpr std::int64_t kSmallPageSizes[] = {1, 16, 16, 32, 64};  // edges of 256 lie beyond the drawn lengths
  const std::int64_t size = shape.page         ? *shape.page
                            : shape.page_edges ? pick(random, kSmallPageSizes)
                                               : pick(random, kPageSizes);
  const std::int64_t per_sequence = std::max<std::int64_t>((sk + size - 1) / size, 1);
  const std::int64_t pages = sequences * per_sequence + random.integer(0, 2);
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t length = draw_paged_length(random, sk, size, shape.page_edges);
    problem.key_length.push_back(static_cast<std::int32_t>(length));
  }
  if (shape.edge_lengths) set_edge_lengths(problem.key_length, [&](std::size_t) { return sk; });
  std::vector<std::int32_t> pool(static_cast<std::size_t>(pages));
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = pool.size(); i > 1; --i) {
    std::swap(pool[i - 1], pool[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  for (std::int64_t entry = 0; entry < sequences * per_sequence; ++entry) {
    const std::int64_t first_key = entry % per_sequence * size;
    const bool used = first_key < problem.key_length[static_cast<std::size_t>(entry / per_sequence)];
    problem.page_table.push_back(used ? pool[static_cast<std::size_t>(entry)] : -7'000'000);
  }
  return {pages, size};
}

KeyAxes draw_storage(const ShapeWish& shape, Random& random, std::int64_t sequences, std::int64_t sq, std::int64_t sk,
                     AttentionProblem& problem) {
  if (shape.packed) problem.q_start = draw_starts(random, sequences, sq, shape.edge_lengths);
  if (shape.paged) return draw_pages(shape, random, sequences, sk, problem);
  if (!shape.packed) return {sequences, sk};
  problem.k_start = draw_starts(random, sequences, sk, shape.edge_lengths);
  return {1, problem.k_start.back() + random.integer(0, 2)};
}

AttentionProblem draw_attention(const CaseSpec& spec, const ShapeWish& shape, Random& random) {
  if (!shape.takes_features && integer_key(spec, "features")) {
    throw UsageError("key features: legal only for feature_pairs, from seed " + std::to_string(kCostlySeeds) + " on");
  }
  if (!shape.takes_descale && text_key(spec, "descale")) {
    throw UsageError("key descale: family " + spec.family + " has no factors, legal only for descale");
  }
  constexpr std::int64_t kKeys[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65};
  constexpr std::int64_t kQueries[] = {1, 2, 3, 4, 5, 8, 9, 16, 17};
  constexpr std::int64_t kWidths[] = {8, 16, 20, 32, 64};
  constexpr std::int64_t kChunks[] = {8, 16, 32, 64};
  const Layout layout = drawn_layout(spec, random);
  const std::int64_t picked_keys = pick_length(random, kKeys, shape.min_length);
  const std::int64_t drawn_keys = is_costly(spec) ? 600 : picked_keys;
  const std::int64_t drawn_queries = pick(random, kQueries);
  const std::int64_t drawn_d = pick(random, kWidths);
  const std::int64_t drawn_dv = pick(random, kWidths);
  const bool causal = random.chance(shape.causal_chance);

  const std::int64_t sk = integer_key(spec, "sk").value_or(shape.length.value_or(drawn_keys));
  const std::int64_t d = integer_key(spec, "d").value_or(shape.head_dim.value_or(drawn_d));
  const std::int64_t dv = integer_key(spec, "dv").value_or(shape.value_dim.value_or(drawn_dv));
  const std::int64_t row_cost = std::max<std::int64_t>(sk, 1) * (d + dv + kExpCost);
  const Heads heads = draw_heads(spec, shape, random, row_cost);
  const std::int64_t affordable = std::max<std::int64_t>(kTruthBudget / row_cost / (heads.b * heads.hq), 1);
  const std::int64_t sq = integer_key(spec, "sq").value_or(shape.rows.value_or(std::min(drawn_queries, affordable)));
  require_length(spec, "sk", sk, shape.min_length);
  require_length(spec, "d", d, shape.min_head_dim);
  require_product("sq", "b * hq * sq * d", {heads.b, heads.hq, sq, d});
  require_product("sq", "b * hq * sq * dv", {heads.b, heads.hq, sq, dv});
  require_product("sk", "b * hk * sk * d", {heads.b, heads.hk, sk, d});
  require_product("sk", "b * hk * sk * dv", {heads.b, heads.hk, sk, dv});
  require_product("sk", "b * hq * sq * sk", {heads.b, heads.hq, sq, sk});

  AttentionProblem problem;
  const Format format = drawn_format(spec);
  const Format kv_format = draw_kv_format(spec, shape, random);
  const KeyAxes keys = draw_storage(shape, random, heads.b, sq, sk, problem);
  const std::int64_t queries = problem.packed() ? problem.q_start.back() : sq;
  problem.q = layout.make(format, {problem.packed() ? 1 : heads.b, heads.hq, queries, d});
  problem.k = layout.make(kv_format, {keys.outer, heads.hk, keys.length, d});
  problem.v = layout.make(kv_format, {keys.outer, heads.hk, keys.length, dv});
  problem.scale = draw_scale(spec, shape, random, d);
  problem.causal = integer_key(spec, "causal").value_or(causal ? 1 : 0) == 1;
  problem.plan = draw_plan(spec, shape, random, problem.k_length(), kChunks);
  if (problem.key_length.empty()) problem.key_length = draw_lengths(shape, random, heads.b, sk);
  const auto room = [&](std::size_t b) {
    return problem.k_start.empty() ? sk : problem.k_length(static_cast<std::int64_t>(b));
  };
  if (shape.edge_lengths) set_edge_lengths(problem.key_length, room);
  for (std::size_t b = 0; b < problem.key_length.size(); ++b) {
    problem.key_length[b] = static_cast<std::int32_t>(std::min<std::int64_t>(problem.key_length[b], room(b)));
  }
  if (random.chance(shape.bias_chance)) {
    problem.bias = layout.make(Format::f32, {heads.b, heads.hq, sq, problem.k_length()});
  }
  return problem;
}

}  // namespace

Problem draw_shape(const CaseSpec& spec, const ShapeWish& wish) {
  ShapeWish shape = wish;
  // Long rows are there for their numbers: plain, but for what the family asks for in every case.
  for (double* chance : {&shape.ragged_chance, &shape.causal_chance, &shape.bias_chance}) {
    if (is_costly(spec) && *chance < 1) *chance = 0;
  }
  Random random = stream(spec, Purpose::shape);
  switch (spec.problem) {
    case ProblemKind::softmax:
      return draw_softmax(spec, shape, random);
    case ProblemKind::merge:
      return draw_merge(spec, shape, random);
    case ProblemKind::attention:
    case ProblemKind::backward:
      return draw_attention(spec, shape, random);
  }
  throw UsageError("problem: must be softmax, merge or attention");
}

Tensor with_layout(std::string_view layout, std::int64_t pad, Format format, Extents extents) {
  const std::size_t rank = extents.size();
  std::vector<std::size_t> axes(rank);  // outermost first
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  if (layout == "transposed") std::swap(axes[rank - 1], axes[rank - 2]);
  if (layout == "padded" && rank == 4) std::swap(axes[1], axes[2]);
  Extents stride(rank);
  std::int64_t step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    stride[axes[i]] = step;
    step *= std::max<std::int64_t>(extents[axes[i]], 1);
    if (layout == "padded" && i + 1 == rank) step += pad;
  }
  return Tensor::strided(format, std::move(extents), std::move(stride));
}

void require_product(const char* key, const char* product, std::initializer_list<std::int64_t> factors) {
  std::int64_t elements = 1;
  for (const std::int64_t factor : factors) {
    if (factor > 0 && elements > kMaxCaseElements / factor) {
      throw UsageError("key " + std::string(key) + ": " + product + " must be at most " +
                       std::to_string(kMaxCaseElements));
    }
    elements *= std::max<std::int64_t>(factor, 1);
  }
}

Random value_stream(const CaseSpec& spec) { return stream(spec, Purpose::values); }

Tensor& bias_of(AttentionProblem& problem) {
  if (!problem.has_bias()) {
    problem.bias =
        Tensor::dense(Format::f32, {problem.batch(), problem.q_heads(), problem.q_length(), problem.k_length()});
  }
  return problem.bias;
}

}  // namespace flashproof
