#include "properties/generators/coverage/dimensions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/generators/numbers.h"

namespace flashproof {
namespace {

using Number = std::int64_t;
constexpr Number kMany = std::numeric_limits<Number>::max();

constexpr Level kNoYes[] = {{"no", 0, 0}, {"yes", 1, 1}};
constexpr Level kOrders[] = {{"forward", 0, 0}, {"reverse", 1, 1}, {"permuted", 2, 2}};
constexpr Level kLayouts[] = {{"dense", 0, 0}, {"padded", 1, 1}, {"transposed", 2, 2}};
constexpr Level kLengthsLevels[] = {{"none", 0, 0}, {"ragged", 1, 1}, {"some 0", 2, 2}};

Number order_of(const std::vector<std::int32_t>& order) {
  if (std::ranges::is_sorted(order)) return kForward;
  return std::ranges::is_sorted(order, std::ranges::greater()) ? kReverse : kPermuted;
}
Number longest_of(const ChunkPlan& plan) {
  Number longest = 0;
  for (int c = 0; c < plan.chunks(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    longest = std::max<Number>(longest, plan.boundary[at + 1] - plan.boundary[at]);
  }
  return longest;
}
/// Of them a split kernel makes its parts: none, some or many for a part.
constexpr Level kChunkCounts[] = {{"1", 1, 1}, {"2-4", 2, 4}, {"5-31", 5, 31}, {"32-", 32, kMany}};
constexpr Number kChunkCountValues[] = {1, 2, 3, 4, 5, 7, 8, 9, 17, 32, 33, 65};

Number lengths_of(const std::vector<std::int32_t>& lengths) {
  if (lengths.empty()) return kNoLengths;
  return std::ranges::find(lengths, 0) == lengths.end() ? kRagged : kSomeEmpty;
}
/// By the last two axes: of a last extent of 1 the stride is looked at, else the one before it.
Number layout_of(const Tensor& t) {
  const std::size_t last = t.shape.size() - 1;
  if (t.shape[last] == 1 ? t.stride[last] > 1 : t.stride[last - 1] == 1) return kTransposed;
  return t.stride[last - 1] > t.shape[last] ? kPadded : kDense;
}

template <class P>
const P& as(const Problem& problem) {
  return std::get<P>(problem);
}
/// Of a gradient its forward problem.
template <>
const AttentionProblem& as(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return gradient != nullptr ? gradient->forward : std::get<AttentionProblem>(problem);
}

// softmax ---------------------------------------------------------------------------------------------------------------

using S = SoftmaxProblem;
constexpr Level kRowLevels[] = {{"1", 1, 1}, {"2-4", 2, 4}, {"5-99", 5, 99}, {"100-", 100, kMany}};
constexpr Number kRowValues[] = {1, 2, 3, 4, 5, 31, 32, 33, 100, 128, 132, 257};
constexpr Level kColumnLevels[] = {
    {"1", 1, 1},           {"2-31", 2, 31}, {"32-256", 32, 256}, {"257-1024", 257, 1024}, {"1025-4096", 1025, 4096},
    {"4097-", 4097, kMany}};
constexpr Number kColumnValues[] = {1,     2,     3,     4,     5,     7,     8,     9,     31,   32,
                                    33,    127,   128,   129,   255,   256,   257,   511,   512,  513,
                                    1023,  1024,  1025,  2047,  2048,  2049,  4095,  4096,  4097, 8193,
                                    16383, 16384, 16385, 32767, 32768, 32769, 65535, 65536, 65537};
constexpr Level kColumnChunks[] = {
    {"1-31", 1, 31}, {"32-256", 32, 256}, {"257-1024", 257, 1024}, {"1025-3072", 1025, 3072}, {"3073-", 3073, kMany}};
constexpr Number kColumnChunkValues[] = {1,   16,   31,   32,   33,   127,  128,  129,  255,  256,  257,  512,
                                         513, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 3073, 4095, 4096, 4097};
constexpr Dimension kSoftmax[] = {
    {"rows", kRowLevels, kRowValues, [](const Problem& p) { return as<S>(p).x.shape[0]; }},
    {"columns", kColumnLevels, kColumnValues, [](const Problem& p) { return as<S>(p).x.shape[1]; }},
    {"longest chunk", kColumnChunks, kColumnChunkValues, [](const Problem& p) { return longest_of(as<S>(p).plan); }},
    {"chunks", kChunkCounts, kChunkCountValues, [](const Problem& p) { return Number{as<S>(p).plan.chunks()}; }},
    {"visiting order", kOrders, {}, [](const Problem& p) { return order_of(as<S>(p).plan.order); }},
    {"lengths", kLengthsLevels, {}, [](const Problem& p) { return lengths_of(as<S>(p).row_length); }},
    {"layout", kLayouts, {}, [](const Problem& p) { return layout_of(as<S>(p).x); }},
};
static_assert(std::size(kSoftmax) == kSoftmaxAxes);

// merge -----------------------------------------------------------------------------------------------------------------

using M = MergeProblem;
constexpr Level kStateLevels[] = {{"1", 1, 1}, {"2", 2, 2}, {"3-16", 3, 16}, {"17-128", 17, 128}, {"129-", 129, 4096}};
constexpr Number kStateValues[] = {1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 33, 64, 128, 129, 255, 257, 1025, 4095, 4096, 4097};
constexpr Level kMergeRowLevels[] = {{"1", 1, 1}, {"2-31", 2, 31}, {"32-128", 32, 128}, {"129-", 129, kMany}};
constexpr Number kMergeRowValues[] = {1, 2, 3, 4, 5, 15, 31, 32, 33, 127, 128, 129, 257, 1025, 4097};
constexpr Level kWidthLevels[] = {
    {"1-31", 1, 31}, {"32-64", 32, 64}, {"65-128", 65, 128}, {"129-256", 129, 256}, {"257-512", 257, 512}};
constexpr Number kWidthValues[] = {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,  17,  31,  32,  33,  40,
                                   63, 64, 65, 80, 127, 128, 129, 192, 255, 256, 257, 384, 511, 512, 513};
Number empty_states(const Problem& problem) {
  const Tensor& lse = as<M>(problem).lse;
  for (Number c = 0; c < lse.shape[0]; ++c) {
    for (Number r = 0; r < lse.shape[1]; ++r) {
      if (lse.at({c, r}) == -std::numeric_limits<double>::infinity()) return 1;
    }
  }
  return 0;
}
constexpr Level kForms[] = {{"sum", 0, 0}, {"concat", 1, 1}};
constexpr Dimension kMerge[] = {
    {"states", kStateLevels, kStateValues, [](const Problem& p) { return as<M>(p).o.shape[0]; }},
    {"rows", kMergeRowLevels, kMergeRowValues, [](const Problem& p) { return as<M>(p).o.shape[1]; }},
    {"dv", kWidthLevels, kWidthValues, [](const Problem& p) { return as<M>(p).o.shape[2]; }},
    {"form", kForms, {}, [](const Problem& p) { return Number{as<M>(p).form == MergeForm::concat}; }},
    {"unnormalised", kNoYes, {}, [](const Problem& p) { return Number{as<M>(p).has_l()}; }},
    {"tree", kNoYes, {}, [](const Problem& p) { return Number{!as<M>(p).joins.empty()}; }},
    {"visiting order", kOrders, {}, [](const Problem& p) { return order_of(as<M>(p).order); }},
    {"empty states", kNoYes, {}, empty_states},
    {"layout", kLayouts, {}, [](const Problem& p) { return layout_of(as<M>(p).o); }},
};
static_assert(std::size(kMerge) == kMergeAxes);

// attention -------------------------------------------------------------------------------------------------------------

using A = AttentionProblem;
constexpr Level kWindows[] = {{"none", 0, 0}, {"left", 1, 1}, {"right", 2, 2}, {"both", 3, 3}};
constexpr Level kDescales[] = {{"none", 0, 0}, {"scores", 1, 1}, {"values", 2, 2}, {"both", 3, 3}};
constexpr Level kKeyFormats[] = {{"as q", 0, 0}, {"e4m3fn", 1, 1}, {"e5m2", 2, 2}};
constexpr Level kPages[] = {{"none", 0, 0}, {"1", 1, 1}, {"2-63", 2, 63}, {"64-", 64, kMany}};
constexpr Number kPageValues[] = {1, 2, 15, 16, 17, 64, 256};
constexpr Level kHeadLevels[] = {{"1", 0, 0}, {"Hq = Hk", 1, 1}, {"groups", 2, 2}, {"Hk = 1", 3, 3}};
constexpr Level kBatches[] = {{"1", 1, 1}, {"2-7", 2, 7}, {"8-", 8, kMany}};
constexpr Number kBatchValues[] = {1, 2, 3, 5, 8, 13, 25, 50, 100, 128, 133, 255, 256, 257};
constexpr Level kQueryLevels[] = {{"1", 1, 1}, {"2-15", 2, 15}, {"16-64", 16, 64}, {"65-", 65, kMany}};
constexpr Number kQueryValues[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 129, 257};
constexpr Level kTileLevels[] = {{"1-99", 1, 99}, {"100-", 100, kMany}};
constexpr Number kTileValues[] = {100, 257};  // of one query each: more heads than 8 bits count
constexpr Level kKeyLevels[] = {{"1", 1, 1},         {"2-15", 2, 15},         {"16-63", 16, 63},
                                {"64-256", 64, 256}, {"257-3072", 257, 3072}, {"3073-", 3073, kMany}};
constexpr Number kKeyValues[] = {1,   2,   3,   7,    8,    9,    15,   16,   17,   31,   32,   33,
                                 47,  48,  49,  63,   64,   65,   127,  128,  129,  255,  256,  257,
                                 511, 512, 513, 1023, 1024, 1025, 2049, 3072, 3073, 4095, 4096, 4097};
constexpr Level kDims[] = {
    {"1-31", 1, 31}, {"32-64", 32, 64}, {"65-128", 65, 128}, {"129-256", 129, 256}, {"257-576", 257, 576}};
constexpr Number kDimValues[] = {1,  2,  3,  4,   5,   7,   8,   9,   15,  16,  17,  31,  32,  33,  40, 63,
                                 64, 65, 80, 127, 128, 129, 160, 192, 255, 256, 257, 512, 575, 576, 577};
constexpr Level kLongestChunk[] = {
    {"1-15", 1, 15}, {"16-63", 16, 63}, {"64-1024", 64, 1024}, {"1025-3072", 1025, 3072}, {"3073-", 3073, kMany}};
constexpr Number kChunkValues[] = {1,  3,   7,   8,    9,    15,   16,   17,   31,   32,   33,   63,  64,
                                   65, 128, 256, 1023, 1024, 1025, 2048, 3072, 3073, 4095, 4096, 4097};
/// floor(log2 |scale|): in f32 it is -149..127.
constexpr Level kScales[] = {{"2^-149..-121", -149, -121}, {"2^-120..-31", -120, -31}, {"2^-30..-9", -30, -9},
                             {"2^-8..3", -8, 3},           {"2^4..30", 4, 30},         {"2^31..127", 31, 127}};
constexpr Number kScaleValues[] = {-149, -140, -127, -126, -125, -122, -121, -120, -100, -64, -31, -30, -16,
                                   -9,   -8,   -4,   -1,   0,    3,    4,    16,   30,   31,  64,  100};

constexpr Level kSigns[] = {{"+", 0, 0}, {"-", 1, 1}};

Number window_of(const Problem& problem) {
  const A& p = as<A>(problem);
  return (p.window_left >= 0 ? 1 : 0) + (p.window_right >= 0 ? 2 : 0);
}
Number descale_of(const Problem& problem) {
  const A& p = as<A>(problem);
  const bool scores = !p.q_descale.shape.empty() || !p.k_descale.shape.empty();
  return (scores ? 1 : 0) + (p.v_descale.shape.empty() ? 0 : 2);
}
Number key_format_of(const Problem& problem) {
  const A& p = as<A>(problem);
  return p.k.format == Format::e4m3fn ? kE4m3fn : p.k.format == Format::e5m2 ? kE5m2 : kSameFormat;
}
Number heads_of(const Problem& problem) {
  const A& p = as<A>(problem);
  if (p.q_heads() == 1) return kOneHead;
  return p.k_heads() == p.q_heads() ? kOwnHeads : p.k_heads() == 1 ? kSharedHead : kGroups;
}
Number queries_of(const Problem& problem) {
  const A& p = as<A>(problem);
  Number longest = 0;
  for (Number s = 0; s < p.sequences(); ++s) longest = std::max(longest, p.q_length(s));
  return longest;
}
Number tiles_of(const Problem& problem) {
  const A& p = as<A>(problem);
  return p.sequences() * p.q_heads() * ((queries_of(problem) + kTileQueries - 1) / kTileQueries);
}
Number scale_of(const Problem& problem) {
  const double scale = std::fabs(as<A>(problem).scale);
  return scale == 0 ? kMany : exponent_of(scale);
}

constexpr Dimension kAttention[] = {
    {"causal", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).causal}; }},
    {"window", kWindows, {}, window_of},
    {"bias", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).has_bias()}; }},
    {"alibi", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).has_alibi()}; }},
    {"softcap", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).softcap > 0}; }},
    {"sink", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).has_sink()}; }},
    {"descale", kDescales, {}, descale_of},
    {"format of k, v", kKeyFormats, {}, key_format_of},
    {"packed", kNoYes, {}, [](const Problem& p) { return Number{as<A>(p).packed()}; }},
    {"page", kPages, kPageValues, [](const Problem& p) { return as<A>(p).paged() ? as<A>(p).k.shape[2] : 0; }},
    {"layout", kLayouts, {}, [](const Problem& p) { return layout_of(as<A>(p).k); }},
    {"lengths", kLengthsLevels, {}, [](const Problem& p) { return lengths_of(as<A>(p).key_length); }},
    {"heads", kHeadLevels, {}, heads_of},
    {"batch", kBatches, kBatchValues, [](const Problem& p) { return as<A>(p).sequences(); }},
    {"queries", kQueryLevels, kQueryValues, queries_of},
    {"batch·heads·tiles", kTileLevels, kTileValues, tiles_of},
    {"keys", kKeyLevels, kKeyValues, [](const Problem& p) { return as<A>(p).k_length(); }},
    {"d", kDims, kDimValues, [](const Problem& p) { return as<A>(p).head_dim(); }},
    {"dv", kWidthLevels, kWidthValues, [](const Problem& p) { return as<A>(p).value_dim(); }},
    {"longest chunk", kLongestChunk, kChunkValues, [](const Problem& p) { return longest_of(as<A>(p).plan); }},
    {"chunks", kChunkCounts, kChunkCountValues, [](const Problem& p) { return Number{as<A>(p).plan.chunks()}; }},
    {"visiting order", kOrders, {}, [](const Problem& p) { return order_of(as<A>(p).plan.order); }},
    {"scale", kScales, kScaleValues, scale_of},
    {"sign of scale", kSigns, {}, [](const Problem& p) { return Number{as<A>(p).scale < 0}; }},
};
static_assert(std::size(kAttention) == kAttentionAxes);

}  // namespace

int Dimension::level_of(std::int64_t number) const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].lo <= number && number <= levels[i].hi) return static_cast<int>(i);
  }
  return -1;
}

std::span<const Dimension> dimensions(ProblemKind problem) {
  switch (problem) {
    case ProblemKind::softmax:
      return kSoftmax;
    case ProblemKind::merge:
      return kMerge;
    case ProblemKind::attention:
      return kAttention;
    case ProblemKind::backward:
      return gradient_dimensions();
  }
  return {};
}

}  // namespace flashproof
