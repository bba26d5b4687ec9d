// States merged by any tree give the same o and lse. Two kinds of tree:
// - joins of one run, where the kernel takes them: from left to right, balanced, at random; within both bounds;
// - several runs: the kernel on the states before a cut, on those behind it, and on the two results. These are rounded
//   to storage, their radii (compare.h) say by how much they may be off, and Joint says what that makes of the whole.

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof::law::merge_any_tree_within_bound {
namespace {

constexpr std::string_view kName = "merge_any_tree_within_bound";
constexpr std::string_view kTeeth[] = {"merge.broken.misprinted_lse",   "merge.broken.one_sided_log",
                                       "merge.broken.two_empty_states", "merge.broken.empty_state_read",
                                       "merge.broken.lse_in_16_bits",   "merge.broken.merged_in_base_2",
                                       "merge.broken.unshifted_weights"};

enum class Shape : std::uint8_t { fold, balanced, random };

std::vector<Join> tree(std::int32_t leaves, Shape shape, Random& random) {
  std::vector<std::int32_t> open(static_cast<std::size_t>(leaves));
  for (std::int32_t n = 0; n < leaves; ++n) open[static_cast<std::size_t>(n)] = n;
  std::vector<Join> joins;
  const auto take = [&](std::size_t at) {
    const std::int32_t node = open[at];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    return node;
  };
  const auto any = [&] {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(open.size()) - 1));
  };
  for (std::int32_t made = leaves; open.size() > 1; ++made) {
    const std::int32_t left = take(shape == Shape::random ? any() : 0);
    const std::int32_t right = take(shape == Shape::random ? any() : 0);
    joins.push_back({left, right});
    open.insert(shape == Shape::fold ? open.begin() : open.end(), made);  // balanced: to the back of the queue
  }
  return joins;
}

/// The states that come as number [first, last) of the order, in that order.
MergeProblem part_of(const MergeProblem& p, std::size_t first, std::size_t last) {
  const std::vector<std::int64_t> from(p.order.begin() + static_cast<std::ptrdiff_t>(first),
                                       p.order.begin() + static_cast<std::ptrdiff_t>(last));
  MergeProblem part = p;
  part.o = gather(p.o, 0, from);
  part.lse = gather(p.lse, 0, from);
  if (p.has_l()) part.l = gather(p.l, 0, from);
  part.joins.clear();
  part.order.clear();
  for (std::size_t n = first; n < last; ++n) part.order.push_back(static_cast<std::int32_t>(n - first));
  return part;
}

/// A result as a state.
Tensor state(Tensor tensor) {
  tensor.shape.insert(tensor.shape.begin(), 1);
  tensor.stride = dense_stride(tensor.shape);
  return tensor;
}

void merge_in_parts(Trial& trial, const MergeProblem& p, std::size_t cut, std::span<const std::uint8_t> rows,
                    Comparison& tally) {
  const MergeProblem first = part_of(p, 0, cut), second = part_of(p, cut, p.order.size());
  if (!tally.taken(trial.refusal(first)) || !tally.taken(trial.refusal(second))) return;
  const Output whole = trial.run(p);
  const Bound whole_bound = trial.bound_of(p);
  const Output a = trial.run(first), b = trial.run(second);
  const Bound a_bound = trial.bound_of(first), b_bound = trial.bound_of(second);
  MergeProblem both;
  both.o = joined(state(a.o), state(b.o), 0);
  both.lse = joined(state(natural_lse(a, trial.contract())), state(natural_lse(b, trial.contract())), 0);
  both.order = {0, 1};
  if (!tally.taken(trial.refusal(both))) return;
  const Output output = trial.run(both);
  const Bound bound = trial.bound_of(both);
  const Reading left(a, a_bound, trial.contract()), right(b, b_bound, trial.contract());
  // The whole, as measured in one run, against the parts' results as measured, and so against their exact values; and
  // the merge of the results against the same.
  const Reading readings[] = {{whole, whole_bound, trial.contract()}, {output, bound, trial.contract()}};
  constexpr std::string_view kRelations[] = {"all states against two parts, joined exactly",
                                             "two parts, merged, against the same joined exactly"};
  for (std::int64_t r = 0; r < left.rows(); ++r) {
    if (rows[static_cast<std::size_t>(r)] == 0) continue;
    const Expected lse_a = expect(left, Part::lse, r, 0), lse_b = expect(right, Part::lse, r, 0);
    const Joint joint(lse_a, lse_b);
    for (std::size_t n = 0; n < 2; ++n) {
      compare(tally, readings[n], Part::lse, r, 0, joint.lse(), kRelations[n]);
      for (std::int64_t c = 0; c < left.width(); ++c) {
        const Expected o = joint.o(expect(left, Part::o, r, c), expect(right, Part::o, r, c));
        compare(tally, readings[n], Part::o, r, c, o, kRelations[n]);
      }
    }
  }
}

Verdict relate(Trial& trial) {
  const auto* p = std::get_if<MergeProblem>(&trial.problem());
  if (p == nullptr) return unsupported("a law of merges");
  const std::size_t n = p->order.size();
  if (n < 2) return vacuous("one state");
  Random random = trial.random(kName);
  const auto rows = ordinary_rows(*p);
  Comparison tally;
  bool tried = false;
  for (const Shape shape : {Shape::fold, Shape::balanced, Shape::random}) {
    MergeProblem changed = *p;
    changed.joins = tree(static_cast<std::int32_t>(n), shape, random);
    if (!trial.refusal(changed).empty()) continue;
    tried = true;
    const Output output = trial.run(changed);
    const Bound bound = trial.bound_of(changed);
    tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
               "another tree against as given", rows);
  }
  MergeProblem sum = *p;
  sum.form = MergeForm::sum;  // blocks side by side are no states
  if (trial.refusal(sum).empty()) {
    const auto last = static_cast<std::int64_t>(n) - 1;
    merge_in_parts(trial, sum, static_cast<std::size_t>(random.integer(1, last)), rows, tally);
  } else if (!tried)
    return unsupported("the kernel neither sums states nor takes joins");
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law merge_any_tree_within_bound() { return {"states may be merged by any tree, of joins or of runs", kTeeth, relate}; }

}  // namespace flashproof::law::merge_any_tree_within_bound
