// Everything that cases may differ in besides their numbers, jointly: seed s is row s mod n of a covering array over
// dimensions.h, so that n seeds in a row hold every pair of levels that a problem can have. The numbers are plain ones: what
// fails here fails by its sizes, its storage, its features or its plan.
#include "properties/generators/coverage/pairs.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "properties/generators/build.h"
#include "properties/generators/plan.h"

namespace flashproof {
namespace pairwise {
namespace {

/// The values that lie in the level, else its ends.
Numbers numbers_in(const Dimension& dimension, int level) {
  const Level& range = dimension.levels[static_cast<std::size_t>(level)];
  Numbers list;
  for (const std::int64_t value : dimension.values) {
    if (range.lo <= value && value <= range.hi) list.push_back(value);
  }
  if (list.empty()) list = {range.lo};
  return list;
}

/// Levels that a kernel need not take: a problem with one of them may be refused, so that its pairs with the plain levels are
/// drawn among the plain ones first.
bool plain(ProblemKind problem, const Levels& levels) {
  const auto among = [&](std::size_t axis, int most) { return levels[axis] <= most; };
  switch (problem) {
    case ProblemKind::softmax:
      return true;
    case ProblemKind::merge:
      return among(kMergeSums, 0) && among(kMergeTree, 0);
    case ProblemKind::backward:
      return among(axis_of(problem, kBias), 0) && among(axis_of(problem, kAlibi), 0) &&
             among(axis_of(problem, kDim), 3) && among(axis_of(problem, kValueDim), 3) &&
             among(axis_of(problem, kSign), 0);
    case ProblemKind::attention:
      return among(kSoftcap, 0) && among(kDescale, 0) && among(kKeyFormat, kSameFormat) && among(kPacked, 0) &&
             among(kPage, 0) && among(kDim, 3) && among(kValueDim, 3) && among(kSign, 0);
  }
  return false;
}

/// For kernels that take little, and refuse most of the other rows: every level of the scale, of either sign and with and without a
/// causal mask, beside the plainest of everything else.
void add_scales(std::vector<Levels>& rows, ProblemKind problem, std::span<const int> counts, const Possible& possible) {
  const auto axis = [&](AttentionAxis of) { return axis_of(problem, of); };
  for (int level = 0; level < counts[axis(kScale)]; ++level) {
    for (const int sign : {0, 1}) {
      Levels row(counts.size(), kFree);
      row[axis(kScale)] = level;
      row[axis(kSign)] = sign;
      row[axis(kCausal)] = (level + sign) % 2;
      row[axis(kQueries)] = row[axis(kKeys)] = 1;  // a few: one alone sees every key
      if (possible(row)) rows.push_back(std::move(row));
    }
  }
}

std::vector<Levels> covering(ProblemKind problem) {
  std::vector<int> counts;
  for (const Dimension& dimension : dimensions(problem)) counts.push_back(static_cast<int>(dimension.levels.size()));
  const Numbers zeros(counts.size(), 0);
  const Possible possible = [&](const Levels& levels) { return kind_for(problem).choose(levels, zeros).fits; };
  const Possible among_plain = [&](const Levels& levels) { return plain(problem, levels) && possible(levels); };
  std::vector<Levels> rows = cover_pairs(counts, possible, cover_pairs(counts, among_plain));
  if (problem == ProblemKind::merge) {
    rows.emplace_back(counts.size(), kFree);
    rows.back()[kMergeRows] = counts[kMergeRows] - 1;  // 65537 of them: pairs_merge.cc
  }
  if (forward_kind(problem) == ProblemKind::attention) add_scales(rows, problem, counts, possible);
  return rows;
}

/// How often each level of the row has come before, so that a round takes the values of a level one after another and the
/// next round goes on behind them.
Numbers turns_of(const std::vector<Levels>& rows, std::size_t row, std::uint64_t round) {
  Numbers result;
  for (std::size_t i = 0; i < rows[row].size(); ++i) {
    std::int64_t before = 0, all = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool same = rows[r][i] == rows[row][i];
      before += same && r < row;
      all += same;
    }
    result.push_back(before + static_cast<std::int64_t>(round % 0xffff) * all);
  }
  return result;
}

}  // namespace

Choice choose(std::span<const Dimension> dimensions, const Levels& levels, const Numbers& simplest,
              const Numbers& turns, const std::function<bool(Numbers& numbers)>& fits) {
  constexpr int kAttempts = 60;
  std::uint64_t mixed = 0;  // modulo 2^64
  for (std::size_t i = 0; i < levels.size(); ++i) mixed = mixed * 31 + static_cast<std::uint64_t>(turns[i] + levels[i]);
  Random random(mixed, 0x9a125);
  std::vector<Numbers> lists(levels.size());  // of what is not free; the same in every attempt
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] != kFree) lists[i] = numbers_in(dimensions[i], levels[i]);
  }
  Choice choice;
  for (int attempt = 0; attempt < kAttempts && !choice.fits; ++attempt) {
    choice.numbers = simplest;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] == kFree) continue;
      const Numbers& list = lists[i];
      const bool other = attempt > 0 && random.chance(0.5);
      const std::int64_t at = other ? random.integer(0, std::ssize(list) - 1) : turns[i] % std::ssize(list);
      choice.numbers[i] = list[static_cast<std::size_t>(attempt == 1 ? 0 : at)];
    }
    choice.fits = fits(choice.numbers);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] != kFree && dimensions[i].level_of(choice.numbers[i]) != levels[i]) choice.fits = false;
    }
  }
  return choice;
}

bool chunks_fit(std::int64_t& length, std::int64_t& longest, std::int64_t& count, std::int64_t at_least) {
  const auto up = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit; };
  const std::int64_t fewest = std::max<std::int64_t>(at_least, count);
  if (length == kUnset) length = longest == kUnset ? std::max<std::int64_t>(fewest, 3) : longest + fewest - 1;
  if (longest == kUnset) longest = count == kUnset ? std::max<std::int64_t>((length - 1) / 3, 1) : up(length, count);
  if (count == kUnset) count = std::max(at_least, up(length, longest));
  return count >= std::max(at_least, up(length, longest)) && count <= length - longest + 1;
}

std::vector<std::int32_t> boundaries(Random& random, std::int64_t length, std::int64_t longest, std::int64_t count) {
  std::vector<std::int64_t> sizes{longest};
  std::int64_t left = length - longest;
  const bool irregular = random.chance(0.3);
  for (std::int64_t after = count - 2; after >= 0; --after) {
    const std::int64_t least = std::max<std::int64_t>(left - after * longest, 1);
    const std::int64_t most = std::max(std::min(longest, left - after), least);
    sizes.push_back(irregular ? random.integer(least, most) : most);
    left -= sizes.back();
  }
  if (random.chance(0.3)) std::swap(sizes.front(), sizes.back());
  std::vector<std::int32_t> result{0};
  for (const std::int64_t size : sizes) result.push_back(result.back() + static_cast<std::int32_t>(size));
  return result;
}

std::vector<std::int32_t> order_of(Random& random, int n, std::int64_t level) {
  n = std::max(n, static_cast<int>(least_of(level)));
  if (level != kPermuted) return draw_order(random, n, 0, level == kForward ? "forward" : "reverse");
  std::vector<std::int32_t> order = draw_order(random, n, 0, "random");
  const bool sorted = std::ranges::is_sorted(order) || std::ranges::is_sorted(order, std::ranges::greater());
  if (sorted) std::ranges::rotate(order, order.begin() + 1);
  return order;
}

const Kind& kind_for(ProblemKind problem) {
  constexpr const Kind* kKinds[] = {&kSoftmaxKind, &kMergeKind, &kAttentionKind, &kGradientKind};
  return *kKinds[static_cast<std::size_t>(problem)];
}

const std::vector<Levels>& rows(ProblemKind problem) {
  static std::array<std::vector<Levels>, std::size(kProblemKinds)> all;
  static std::array<std::once_flag, std::size(kProblemKinds)> made;
  const auto kind = static_cast<std::size_t>(problem);
  std::call_once(made[kind], [&] { all[kind] = covering(problem); });
  return all[kind];
}

}  // namespace pairwise

namespace family::pairs {
namespace {

pairwise::Numbers numbers_of(const CaseSpec& spec) {
  const std::vector<Levels>& rows = pairwise::rows(spec.problem);
  const auto row = static_cast<std::size_t>(spec.seed % rows.size());
  const pairwise::Kind& kind = pairwise::kind_for(spec.problem);
  pairwise::Choice choice = kind.choose(rows[row], pairwise::turns_of(rows, row, spec.seed / rows.size()));
  // Where the values whose turn it is contradict each other, those that the covering array was made with.
  if (!choice.fits) choice = kind.choose(rows[row], pairwise::Numbers(rows[row].size(), 0));
  return choice.numbers;
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  return {spec, pairwise::kind_for(spec.problem).make(spec, numbers_of(spec), random)};
}

GradientForm gradient(const CaseSpec& spec) { return pairwise::gradient_form(numbers_of(spec)); }

// Lengths that no other family has.
constexpr Promise kPromises[] = {
    {.field = &Difficulty::keys, .at_least = 2049, .share = 0.01, .only = ProblemKind::softmax},
    {.field = &Difficulty::keys, .at_least = 129, .share = 0.05, .only = ProblemKind::merge},
    {.field = &Difficulty::keys, .at_least = 1025, .share = 0.05, .only = ProblemKind::attention},
    {.field = &Difficulty::permuted, .at_least = 1, .share = 0.25}};

}  // namespace

Family pairs() {
  return {"sizes, storage, features and plans, every pair of them",
          kAll,
          make,
          kPromises,
          nullptr,
          [](ProblemKind problem) { return std::uint64_t{pairwise::rows(problem).size()}; },
          gradient,
          true};
}

}  // namespace family::pairs
}  // namespace flashproof
