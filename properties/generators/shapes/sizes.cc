// Every size that dimensions.h lists, in every format: kernels take another path at their tiles, vectors, parts and limits, and
// a list has each of them, one less and one more (kernels/thresholds.h says which are whose; a test holds the lists to them).
// Seed s is row s mod n; a row takes the next size of every list that fits what it has. Nothing else is special. Behind these rows stand
// corners: beyond a tile along every axis at once, where a list beside the smallest of the others, and a pair of levels, of which the
// cheapest sizes are drawn, reach the second tile along one axis alone; one shape twice with other lengths; windows in many sequences,
// over many queries and beside a causal mask.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "properties/generators/build.h"
#include "properties/generators/coverage/pairs.h"

namespace flashproof {
namespace family::sizes {
namespace {

using pairwise::Numbers;
using Rows = std::vector<Numbers>;

/// Some kernels take nothing but pages, or blocks side by side: attention and merges are drawn a second time as these, long
/// chunks and many states left out.
constexpr std::int64_t kPageKeys = 16, kConcat = 1, kLongThere = 128;

/// A page makes another problem of it, and a scale is no size.
bool is_size(ProblemKind problem, std::size_t dimension, bool narrow) {
  switch (problem) {
    case ProblemKind::softmax:
    case ProblemKind::merge:
      return true;
    case ProblemKind::backward:
      return dimension != axis_of(problem, kScale);
    case ProblemKind::attention:
      if (narrow) return dimension == kQueries || dimension == kDim || dimension == kValueDim || dimension == kChunk;
      return dimension != kPage && dimension != kScale;
  }
  return false;
}

/// Takes one size of the list into the row, if one fits: `first`, if that is left. Matrix units have forms for d = dv, and one
/// limit for both.
bool take_one(ProblemKind problem, std::size_t dimension, std::vector<std::int64_t>& left, std::int64_t first,
              Numbers& row) {
  const auto same = std::ranges::find(left, first);
  if (same != left.end()) std::rotate(left.begin(), same, same + 1);
  for (auto size = left.begin(); size != left.end(); ++size) {
    Numbers with = row;
    with[dimension] = *size;
    const bool attention = forward_kind(problem) == ProblemKind::attention;
    if (attention && dimension == axis_of(problem, kTiles))
      with[axis_of(problem, kHeads)] = kOwnHeads;  // as many as it takes
    Numbers complete = with;
    if (!pairwise::kind_for(problem).fits(complete)) continue;
    row = std::move(with);
    left.erase(size);
    return true;
  }
  return false;
}

void add_rows(ProblemKind problem, bool narrow, Rows& rows) {
  const pairwise::Kind& kind = pairwise::kind_for(problem);
  const bool attention = forward_kind(problem) == ProblemKind::attention;
  const auto is = [&](std::size_t dimension, AttentionAxis axis) {
    return attention && dimension == axis_of(problem, axis);
  };
  std::vector<std::vector<std::int64_t>> left;
  for (const Dimension& dimension : dimensions(problem)) {
    const bool drawn = is_size(problem, left.size(), narrow);
    left.emplace_back();
    for (const std::int64_t size : dimension.values) {
      const bool of_many = dimension.name == "longest chunk" || dimension.name == "states";
      if (drawn && !(narrow && of_many && size > kLongThere)) left.back().push_back(size);
    }
  }
  for (;;) {
    Numbers row = kind.plain();
    if (narrow && problem == ProblemKind::attention) row[kPage] = kPageKeys;
    if (narrow && problem == ProblemKind::merge) row[kMergeForm] = kConcat;
    bool any = false;
    for (std::size_t i = left.size(); i-- > 0;) {
      const bool shares = is(i, kBatch) || is(i, kQueries);
      if (shares && row[axis_of(problem, kTiles)] != pairwise::kUnset) continue;  // the tiles are to come of the heads
      const bool width = is(i, kDim) && !left[i].empty();
      const std::size_t values = axis_of(problem, kValueDim);
      const bool beyond = width && dimensions(problem)[values].level_of(row[values]) < 0;
      any = take_one(problem, i, left[i], beyond ? left[i].back() : width ? row[values] : pairwise::kUnset, row) || any;
    }
    if (!any) return;
    kind.fits(row);
    rows.push_back(std::move(row));
  }
}

/// More rows than a tile, of more columns than one; and lengths that 16 bits hold as negative numbers, in more than the first row.
void add_softmax_corners(Rows& rows) {
  for (const auto& [many, columns, lengths] : {std::tuple{132, 260, kNoLengths}, std::tuple{2, 32770, kRagged}}) {
    Numbers row = pairwise::kSoftmaxKind.plain();
    row[kSoftmaxRows] = many, row[kSoftmaxColumns] = columns, row[kSoftmaxLengths] = lengths;
    pairwise::kSoftmaxKind.fits(row);  // for the chunks: it costs more than a row that anything may ask for
    rows.push_back(std::move(row));
  }
}

/// The second batch, the second kv head, the second query head of its group, and of these the second tiles of queries and keys. With
/// lengths twice, under a mask and groups of heads and without both: what a kernel keeps for sizes that it has seen must not be the
/// lengths.
void add_attention_corners(ProblemKind problem, Rows& rows) {
  constexpr std::int64_t kTwoTilesOfQueries = 33, kTwoTilesOfKeys = 130;
  struct Corner {
    std::int64_t heads;
    bool causal, lengths;
  };
  constexpr Corner kMasked = {kGroups, true, true}, kPlain = {kOwnHeads, false, true};
  for (const Corner& corner :
       {Corner{kGroups, false, false}, kMasked, kMasked, Corner{kOwnHeads, false, false}, kPlain, kPlain}) {
    Numbers row = pairwise::kind_for(problem).plain();
    const auto at = [&](AttentionAxis axis) -> std::int64_t& { return row[axis_of(problem, axis)]; };
    at(kBatch) = 2, at(kHeads) = corner.heads, at(kQueries) = kTwoTilesOfQueries, at(kKeys) = kTwoTilesOfKeys;
    at(kCausal) = corner.causal ? 1 : 0, at(kLengths) = corner.lengths ? kRagged : kNoLengths;
    pairwise::kind_for(problem).fits(row);
    rows.push_back(std::move(row));
  }
}

/// Windows in more than eight sequences, with more queries than the longest reaches, and beside a causal mask. More than
/// once: how far one reaches is drawn.
void add_window_corners(ProblemKind problem, Rows& rows) {
  constexpr std::int64_t kLeft = 1, kRight = 2, kBoth = 3;
  struct Corner {
    std::int64_t window, batch, queries, keys;
    bool causal;
  };
  constexpr Corner kMask = {kRight, 1, 17, 33, true};
  constexpr Corner kCorners[] = {{kBoth, 9, 17, 33, false},  {kRight, 1, 129, 130, false}, kMask, kMask,
                                 {kLeft, 1, 70, 300, false}, {kRight, 1, 140, 260, false}};
  for (int twice = 0; twice < 2; ++twice) {
    for (const Corner& corner : kCorners) {
      Numbers row = pairwise::kind_for(problem).plain();
      const auto at = [&](AttentionAxis axis) -> std::int64_t& { return row[axis_of(problem, axis)]; };
      at(kWindow) = twice == 0 ? corner.window : kBoth, at(kBatch) = corner.batch, at(kQueries) = corner.queries;
      at(kKeys) = corner.keys, at(kCausal) = corner.causal ? 1 : 0;
      pairwise::kind_for(problem).fits(row);
      rows.push_back(std::move(row));
    }
  }
}

Rows make_rows(ProblemKind problem) {
  Rows rows;
  add_rows(problem, false, rows);
  if (problem == ProblemKind::merge || problem == ProblemKind::attention) add_rows(problem, true, rows);
  if (problem == ProblemKind::softmax) add_softmax_corners(rows);
  if (forward_kind(problem) == ProblemKind::attention) add_attention_corners(problem, rows);
  if (forward_kind(problem) == ProblemKind::attention) add_window_corners(problem, rows);
  return rows;
}

const Rows& rows(ProblemKind problem) {
  static const std::array<Rows, std::size(kProblemKinds)> all = {
      make_rows(ProblemKind::softmax), make_rows(ProblemKind::merge), make_rows(ProblemKind::attention),
      make_rows(ProblemKind::backward)};
  return all[static_cast<std::size_t>(problem)];
}

const Numbers& row_of(const CaseSpec& spec) {
  const Rows& all = rows(spec.problem);
  return all[spec.seed % all.size()];
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  return {spec, pairwise::kind_for(spec.problem).make(spec, row_of(spec), random)};
}

/// A size shows in either mode: half of the rows in each, the other half in the next round.
GradientForm gradient(const CaseSpec& spec) {
  GradientForm form = pairwise::gradient_form(row_of(spec));
  form.mode = mode_in_turn(spec.seed, rows(spec.problem).size());
  return form;
}

// Lengths that nothing but this and `pairs` has; of long attention rows the values have one sign.
constexpr Promise kPromises[] = {
    {.field = &Difficulty::keys, .at_least = 2049, .share = 0.2, .only = ProblemKind::softmax},
    {.field = &Difficulty::keys, .at_least = 129, .share = 0.1, .only = ProblemKind::merge},
    {.field = &Difficulty::keys, .at_least = 1025, .share = 0.05, .only = ProblemKind::attention},
    {.field = &Difficulty::one_signed, .at_least = 1, .share = 0.05, .only = ProblemKind::attention}};

}  // namespace

Family sizes() {
  return {"sizes at the tiles, vectors, parts and limits of kernels, one less and one more",
          kAll,
          make,
          kPromises,
          nullptr,
          [](ProblemKind problem) { return std::uint64_t{rows(problem).size()}; },
          gradient};
}

}  // namespace family::sizes
}  // namespace flashproof
