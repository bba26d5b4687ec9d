// How the keys are split does not matter. Of one run: another chunk plan (one chunk; many uneven ones in a random
// visiting order) is within both bounds of the given one. Of two runs: the keys before a cut and those behind it, each
// by itself; the two results, joined in exact mathematics (Joint: radii of the two lse included), are the whole.
//
// The keys before the cut are a shorter length: that moves no key, and with causality, window and ALiBi places count
// from the last one. The keys behind it are a tensor of their own; a sink belongs to them.
#include <algorithm>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof::law::split_equals_unsplit {
namespace {

constexpr std::string_view kName = "split_equals_unsplit";
constexpr std::string_view kTeeth[] = {
    "softmax.broken.tail_dropped",           "attention.broken.accumulator_not_rescaled",
    "attention.broken.sum_not_rescaled",     "attention.broken.old_maximum_forgotten",
    "attention.broken.maximum_of_many_rows", "attention.broken.tail_not_masked",
    "attention.broken.last_tile_dropped",    "attention.broken.last_split_dropped",
    "attention.broken.log2e_dropped",        "attention.broken.log2e_twice",
    "attention.broken.sink_counted_twice"};

/// Chunks of 1 to a third of the length, visited in a random order.
ChunkPlan uneven(std::int64_t length, Random& random) {
  ChunkPlan plan;
  plan.boundary.push_back(0);
  const std::int64_t most = std::max<std::int64_t>(1, length / 3);
  for (std::int64_t at = 0; at < length;) {
    at = std::min(length, at + random.integer(std::max<std::int64_t>(1, most / 8), most));
    plan.boundary.push_back(static_cast<std::int32_t>(at));
  }
  for (std::int32_t c = 0; c + 1 < static_cast<std::int32_t>(plan.boundary.size()); ++c) plan.order.push_back(c);
  for (std::size_t n = plan.order.size(); n-- > 1;) {
    std::swap(plan.order[n], plan.order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n)))]);
  }
  return plan;
}

std::vector<std::int32_t> before(std::span<const std::int32_t> length, std::int64_t cut) {
  std::vector<std::int32_t> result;
  for (const std::int32_t n : length) result.push_back(std::min(n, static_cast<std::int32_t>(cut)));
  return result;
}
std::vector<std::int32_t> behind(std::span<const std::int32_t> length, std::int64_t cut) {
  std::vector<std::int32_t> result;
  for (const std::int32_t n : length) result.push_back(std::max(n - static_cast<std::int32_t>(cut), 0));
  return result;
}

struct Cut {
  Problem first, second;
};

std::string cut(const SoftmaxProblem& p, std::int64_t at, Cut& parts) {
  SoftmaxProblem first = p, second = p;
  auto from = iota(p.x.shape[1]);
  first.x = gather(p.x, 1, std::span(from).first(static_cast<std::size_t>(at)));
  second.x = gather(p.x, 1, std::span(from).subspan(static_cast<std::size_t>(at)));
  first.row_length = before(p.row_length, at);
  second.row_length = behind(p.row_length, at);
  first.plan = ChunkPlan::uniform(at, std::max<std::int64_t>(1, (at + 1) / 2));
  second.plan = tail(p.plan, at);
  parts = {first, second};
  return {};
}

std::string cut(const AttentionProblem& p, std::int64_t at, Cut& parts) {
  if (p.paged()) return "a shorter length moves the keys of pages";
  const bool masked = p.causal || p.window_left >= 0 || p.window_right >= 0;
  if (p.top_left && masked) return "the keys behind the cut would lie elsewhere in a mask aligned top left";
  AttentionProblem first = p, second = p;
  std::vector<std::int32_t> length;
  std::vector<std::int64_t> from;
  length.reserve(static_cast<std::size_t>(p.sequences()));
  for (std::int64_t s = 0; s < p.sequences(); ++s) length.push_back(static_cast<std::int32_t>(p.visible_length(s)));
  first.key_length = before(length, at);
  first.sink = {};
  if (!p.key_length.empty()) second.key_length = behind(p.key_length, at);
  if (p.packed()) {
    second.k_start = {0};
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      const auto start = p.k_start[static_cast<std::size_t>(s)];
      for (std::int64_t j = at; j < p.k_length(s); ++j) from.push_back(start + j);
      second.k_start.push_back(static_cast<std::int32_t>(from.size()));
    }
  } else {
    for (std::int64_t j = at; j < p.k_length(); ++j) from.push_back(j);
  }
  second.k = gather(p.k, 2, from);
  second.v = gather(p.v, 2, from);
  if (p.has_bias()) second.bias = gather(p.bias, 3, from);
  second.plan = tail(p.plan, at);
  parts = {first, second};
  return {};
}

void against_whole(Trial& trial, const Cut& parts, std::int64_t at, std::span<const std::uint8_t> rows,
                   Comparison& tally) {
  if (!tally.taken(trial.refusal(parts.first)) || !tally.taken(trial.refusal(parts.second))) return;
  const Output a = trial.run(parts.first), b = trial.run(parts.second);
  const Bound a_bound = trial.bound_of(parts.first), b_bound = trial.bound_of(parts.second);
  const Reading first(a, a_bound, trial.contract()), second(b, b_bound, trial.contract());
  const Reading whole(trial.output(), trial.bound(), trial.contract());
  const bool columns = std::holds_alternative<SoftmaxProblem>(trial.problem());
  constexpr std::string_view kRelation = "all keys against two parts, joined exactly";
  for (std::int64_t r = 0; r < whole.rows(); ++r) {
    if (rows[static_cast<std::size_t>(r)] == 0) continue;
    const Joint joint(expect(first, Part::lse, r, 0), expect(second, Part::lse, r, 0));
    compare(tally, whole, Part::lse, r, 0, joint.lse(), kRelation);
    for (std::int64_t c = 0; c < whole.width(); ++c) {
      // A column of a softmax is a value of 0 to every other column, and so to the other part.
      const bool in_first = !columns || c < at, in_second = !columns || c >= at;
      const Expected o_a = in_first ? expect(first, Part::o, r, c) : expect(exactly(0));
      const Expected o_b = in_second ? expect(second, Part::o, r, columns ? c - at : c) : expect(exactly(0));
      compare(tally, whole, Part::o, r, c, joint.o(o_a, o_b), kRelation);
    }
  }
}

template <class P>
Verdict relate_to(Trial& trial, const P& p, std::int64_t keys) {
  if (keys < 2) return vacuous("one key");
  Random random = trial.random(kName);
  const auto rows = ordinary_rows(p);
  Comparison tally;
  P changed = p;
  changed.plan = random.chance(0.25) ? ChunkPlan::uniform(keys, keys) : uneven(keys, random);
  if (tally.taken(trial.refusal(changed))) {  // no chunk is too long for the kernel
    const Output output = trial.run(changed);
    const Bound bound = trial.bound_of(changed);
    tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
               "another chunk plan against as given", rows);
  }
  Cut parts;
  const std::int64_t at = random.integer(1, keys - 1);
  const std::string why = cut(p, at, parts);
  if (why.empty()) against_whole(trial, parts, at, rows, tally);
  return tally.verdict(why.empty() ? "no row of ordinary numbers" : why);
}

Verdict relate(Trial& trial) {
  const Problem& problem = trial.problem();
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) return relate_to(trial, *p, p->x.shape[1]);
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) return relate_to(trial, *p, p->k_length());
  return unsupported("states are split by merge_any_tree_within_bound");
}

}  // namespace

Law split_equals_unsplit() {
  return {"another chunk plan, or two halves joined exactly, give the same", kTeeth, relate};
}

}  // namespace flashproof::law::split_equals_unsplit
