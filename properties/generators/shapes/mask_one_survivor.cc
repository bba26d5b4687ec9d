// All keys but one hidden. The answer is that key's v exactly, and lse its logit; all other chunks are empty.
#include "properties/generators/build.h"

namespace flashproof::family::mask_one_survivor {
namespace {

/// Longer than 1024, with a tail behind the last vector of four: there the survivor is.
constexpr std::int64_t kWithTail = 1027;
constexpr std::int64_t kManyStates = 70;

void survivor_row(Random& random, const LogitSite& site, std::span<double> logits) {
  std::fill(logits.begin(), logits.end(), -kInfinity);
  if (logits.empty()) return;
  // In the chunk visited first, last, or anywhere.
  const std::int64_t place = random.integer(0, 2);
  const auto anywhere = static_cast<int>(random.integer(0, site.plan.chunks() - 1));
  const int visit = place == 0 ? 0 : place == 1 ? site.plan.chunks() - 1 : anywhere;
  const KeyRange chunk = visited_chunk(site.plan, visit);
  const bool at_end = std::ssize(logits) == kWithTail;
  const std::int64_t key =
      at_end ? kWithTail - random.integer(1, kWithTail % 4) : random.integer(chunk.begin, chunk.end - 1);
  logits[static_cast<std::size_t>(key)] = 5 * random.normal();
}

Case make(const CaseSpec& spec) {
  ShapeWish wish{.exact_scale = true};
  const bool long_row = in_turn(spec) && spec.seed % 4 == 3;
  if (long_row && spec.problem == ProblemKind::softmax) wish.length = kWithTail;
  if (long_row && spec.problem == ProblemKind::merge) wish.length = kManyStates;
  return with_rows(spec, wish, survivor_row, {.carrier = Carrier::bias, .noise = 1});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::lone_rows, .at_least = 1}};

}  // namespace

Family mask_one_survivor() { return {"every key but one is hidden", kAll, make, kPromises}; }

}  // namespace flashproof::family::mask_one_survivor
