#include "properties/laws/support/lost_keys.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "properties/laws/support/change.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostPlaces = 12;

}  // namespace

std::vector<std::int64_t> telling_places(std::int64_t n, const ChunkPlan* plan, Random& random) {
  std::vector<std::int64_t> all;
  if (plan != nullptr) {
    for (const std::int32_t b : plan->boundary) all.insert(all.end(), {b - 1, b});
  }
  for (const std::int64_t tile : {16, 32, 64, 128}) {
    const std::int64_t edge = tile * random.integer(1, std::max<std::int64_t>(1, n / tile));
    all.insert(all.end(), {edge - 1, edge, edge + 1});
  }
  std::erase_if(all, [&](std::int64_t j) { return j <= 0 || j >= n - 1; });
  for (std::size_t i = all.size(); i-- > 1;) {
    std::swap(all[i], all[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
  }
  if (all.size() > kMostPlaces - 4) all.resize(kMostPlaces - 4);
  if (n > 0) all.insert(all.end(), {0, n - 1, random.integer(0, n - 1), random.integer(0, n - 1)});
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

void LostKeys::compare(const Problem& before, const Problem& after, const std::vector<LostKey>& lost,
                       const Value& value) {
  if (!tally_.taken(trial_.refusal(before)) || !tally_.taken(trial_.refusal(after))) return;
  if (!output_ || !(before_ == before)) {
    before_ = before;
    output_ = trial_.run(before);
    bound_ = trial_.bound_of(before);
  }
  const Output output = trial_.run(after);
  const Bound bound = trial_.bound_of(after);
  const Reading with(*output_, bound_, trial_.contract()), without(output, bound, trial_.contract());
  const auto rows = ordinary_rows(before);
  for (std::int64_t r = 0; r < with.rows(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    if (rows[row] != 0) compare_row(with, without, r, lost[row], value);
  }
}

void LostKeys::compare_row(const Reading& with, const Reading& without, std::int64_t r, const LostKey& lost,
                           const Value& value) {
  if (lost.key == kNoKey) {
    constexpr std::string_view kRelation = "of a row that lost no key";
    tally_.same_element(without, with, Part::lse, r, 0, r, 0, kRelation);
    for (std::int64_t c = 0; c < with.width(); ++c) tally_.same_element(without, with, Part::o, r, c, r, c, kRelation);
    return;
  }
  const Expected before = expect(with, Part::lse, r, 0), after = expect(without, Part::lse, r, 0);
  if (before.standing == Standing::excused || after.standing == Standing::excused) return;
  const auto what = [&] { return "lse of row " + std::to_string(r) + " without key " + std::to_string(lost.key); };
  const bool now_empty = after.standing == Standing::special && after.value.value == -kInfinity;
  if (before.standing == Standing::special || (after.standing == Standing::special && !now_empty)) {
    tally_.fail(Failure::class_mismatch, what() + ": no number before, or neither a number nor -inf after");
    return;
  }
  const Measured kept = now_empty ? exactly(0) : share(after.value - before.value);
  if (std::isfinite(lost.score.value)) {
    const Measured weight = share(lost.score - before.value);
    tally_.agree(kept + weight, exactly(1), weight.value / 2,
                 [&] { return what() + ", what is kept and what was lost against 1"; });
  }
  // Where the loss is within its own radius, the comparison shows nothing of it.
  const double sharp = 1 - kept.value > 2 * kept.radius ? kInfinity : 0;
  const std::string relation = "against the rest and key " + std::to_string(lost.key);
  for (std::int64_t c = 0; c < with.width(); ++c) {
    Expected o = expect(without, Part::o, r, c) * kept + (exactly(1) - kept) * exactly(value(r, c));
    o.sharp = sharp;
    flashproof::compare(tally_, with, Part::o, r, c, o, relation);
  }
}

}  // namespace flashproof
