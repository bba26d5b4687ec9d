// Softmax of levels.
#include <algorithm>
#include <string>

#include "properties/generators/build.h"
#include "properties/generators/coverage/pairs.h"
#include "properties/generators/plan.h"

namespace flashproof::pairwise {
namespace {

using Number = std::int64_t;

// As many as the levels of rows and columns need, or few.
constexpr Number kMostSoftmaxElements = Number{1} << 14;
/// Where there is one row and nothing else is asked for.
constexpr Number kLongest = Number{3} << 15;
/// Blocks of a kernel that gives every chunk of a row one, where no two levels ask for more.
constexpr Number kMostBlocks = 512;

/// Room for the smallest numbers of two large levels, and for little more.
Number most_times(const Numbers& n) {
  if (n[kSoftmaxRows] >= 100) return n[kSoftmaxColumns] > 3072 ? 26 : 7;
  return n[kSoftmaxRows] >= 5 ? 3 : 1;
}

bool softmax_fits(Numbers& n, bool nothing_else) {
  if (n[kSoftmaxRows] == kUnset) n[kSoftmaxRows] = n[kSoftmaxColumns] > 4097 ? 1 : 2;
  if (n[kSoftmaxColumns] == kUnset && n[kSoftmaxChunk] == kUnset)
    n[kSoftmaxColumns] = std::max<Number>(n[kSoftmaxChunks], 9);
  // Of many rows the fewest chunks: what a length is cut into otherwise would be too many blocks.
  if (nothing_else && n[kSoftmaxChunk] == kUnset && n[kSoftmaxChunks] == kUnset && n[kSoftmaxRows] > kMostBlocks / 2)
    n[kSoftmaxChunks] = least_of(n[kSoftmaxOrder]);
  const bool cut = chunks_fit(n[kSoftmaxColumns], n[kSoftmaxChunk], n[kSoftmaxChunks], least_of(n[kSoftmaxOrder]));
  const bool seen = n[kSoftmaxLayout] != kTransposed || n[kSoftmaxColumns] > 1 || n[kSoftmaxRows] > 1;
  // Columns side by side and chunks of them: rows of one column have no order to visit.
  const bool both = n[kSoftmaxRows] >= 100 && n[kSoftmaxChunks] >= 32;
  const bool few = n[kSoftmaxChunks] <= 4 || n[kSoftmaxRows] * n[kSoftmaxChunks] <= (both ? 3200 : kMostBlocks);
  const Number plain = n[kSoftmaxRows] == 1   ? kLongest
                       : n[kSoftmaxRows] == 2 ? kMostSoftmaxElements
                                              : kMostSoftmaxElements / 4;
  const Number most = nothing_else ? plain : kMostSoftmaxElements * most_times(n);
  return seen && cut && few && n[kSoftmaxRows] * n[kSoftmaxColumns] <= most;
}

Numbers plain_softmax() {
  Numbers plain(kSoftmaxAxes, 0);
  plain[kSoftmaxRows] = plain[kSoftmaxColumns] = plain[kSoftmaxChunk] = plain[kSoftmaxChunks] = kUnset;
  return plain;
}

Choice choose_softmax(const Levels& levels, const Numbers& turns) {
  Choice choice = choose(dimensions(ProblemKind::softmax), levels, plain_softmax(), turns,
                         [](Numbers& n) { return softmax_fits(n, false); });
  // One row without a column that it sees shows nothing: it is drawn, but covers no other pair.
  const bool nothing = levels[kSoftmaxLengths] == kSomeEmpty && levels[kSoftmaxRows] == 0;
  if (nothing && std::ranges::count(levels, kFree) < std::ssize(levels) - 2) choice.fits = false;
  return choice;
}

Problem make_softmax(const CaseSpec& spec, const Numbers& n, Random& random) {
  constexpr std::string_view kNames[] = {"dense", "padded", "transposed"};
  const Number rows = integer_key(spec, "rows").value_or(n[kSoftmaxRows]);
  const Number cols = integer_key(spec, "cols").value_or(n[kSoftmaxColumns]);
  require_product("cols", "rows * cols", {rows, cols});
  Problem problem = SoftmaxProblem{};
  auto& p = std::get<SoftmaxProblem>(problem);
  const std::string layout = text_key(spec, "layout").value_or(std::string(kNames[n[kSoftmaxLayout]]));
  p.x =
      with_layout(layout, random.integer(1, 3), *parse_format(text_key(spec, "format").value_or("f32")), {rows, cols});
  const bool chosen = spec.keys.contains("cols") || spec.keys.contains("chunk") || spec.keys.contains("order");
  if (chosen) {
    const Number longest = integer_key(spec, "chunk").value_or(n[kSoftmaxChunk]);
    p.plan.boundary = draw_boundaries(random, cols, longest, false);
    p.plan.order = draw_order(random, static_cast<int>(p.plan.boundary.size()) - 1, spec.seed, text_key(spec, "order"));
  } else {
    p.plan.boundary = boundaries(random, cols, n[kSoftmaxChunk], n[kSoftmaxChunks]);
    p.plan.order = order_of(random, static_cast<int>(p.plan.boundary.size()) - 1, n[kSoftmaxOrder]);
  }
  if (n[kSoftmaxLengths] != kNoLengths && rows > 0) {
    const Number empty = n[kSoftmaxLengths] == kSomeEmpty ? random.integer(rows > 1 ? 1 : 0, rows - 1) : -1;
    put_lengths(problem, [&](Number r) {
      const Number least = std::clamp<Number>(r == 0 ? cols - 2 : 1, std::min<Number>(cols, 1), cols);
      const Number length = random.integer(least, cols);
      return r == empty ? 0 : length;
    });
  }
  const double offset = random.chance(0.5) ? -5 : 0;
  put_logits(problem, random, family::normal_row(2, offset));
  return problem;
}

bool fits_plain(Numbers& n) { return softmax_fits(n, true); }

}  // namespace

const Kind kSoftmaxKind{plain_softmax, fits_plain, choose_softmax, make_softmax};

}  // namespace flashproof::pairwise
