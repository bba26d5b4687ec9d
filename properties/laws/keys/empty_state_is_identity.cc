// A state that stands for nothing changes nothing, wherever it comes: a merge's state with lse = −inf (or l = 0) whose
// o is NaN, a softmax's chunk of −inf, a chunk of hidden keys in attention, of NaN where the kernel isolates hidden
// keys. And nothing but such states is one of them: o = 0, lse = −inf, or the sink. The exact answer stays the same, so
// the two outputs agree within both bounds; of nothing it is known.
#include <algorithm>
#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"
#include "reference/problem/special_values.h"

namespace flashproof::law::empty_state_is_identity {
namespace {

constexpr std::string_view kName = "empty_state_is_identity";
constexpr std::string_view kTeeth[] = {"softmax.broken.no_empty_guard",
                                       "merge.broken.two_empty_states",
                                       "merge.broken.empty_state_read",
                                       "attention.broken.masked_tile_not_guarded",
                                       "attention.broken.empty_split_plus_inf",
                                       "attention.broken.finite_empty_lse",
                                       "attention.broken.finite_mask",
                                       "attention.broken.row_max_reset",
                                       "attention.broken.sink_lost_with_empty_split",
                                       "attention_backward.broken.unseen_not_written"};

class Check {
 public:
  explicit Check(Trial& trial) : trial_(trial), random_(trial.random(kName)) {}

  Verdict of(const MergeProblem& p) {
    const auto n = p.order.size();
    const auto good = ordinary_rows(p);
    for (const std::size_t place : {std::size_t{0}, (n + 1) / 2, n}) {
      MergeProblem changed = p;
      // In the middle, if there are sums: one that is 0, whatever its maximum.
      const bool zero_sum = p.has_l() && place != 0 && place != n;
      insert_state(
          changed, place, [&](std::int64_t) { return zero_sum ? 100.0 : -kInfinity; }, kNan, zero_sum ? 0 : kNan);
      against_base(changed, good, [](std::int64_t column) { return column; });
    }
    MergeProblem nothing = p;
    nothing.lse = mapped(p.lse, [](double) { return -kInfinity; });
    nothing.o = mapped(p.o, [](double) { return kNan; });
    if (p.has_l()) nothing.l = mapped(p.l, [](double) { return kNan; });
    all_empty(nothing, [](std::int64_t) { return -kInfinity; });
    return tally_.verdict("no row of ordinary numbers");
  }

  Verdict of(SoftmaxProblem p) {
    const auto good = ordinary_rows(p);
    without_lengths(p);
    const std::int64_t cols = p.x.shape[1], width = std::max<std::int64_t>(1, std::min<std::int64_t>(cols / 2, 64));
    const int at = drawn_place(p.plan);
    if (cols > 0) {
      SoftmaxProblem changed = p;
      const std::int64_t first = p.plan.boundary[static_cast<std::size_t>(at)];
      auto from = iota(cols);
      from.insert(from.begin() + first, static_cast<std::size_t>(width), 0);
      changed.x = gather(p.x, 1, from);
      changed.plan = widened(p.plan, at, width);
      for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
        for (std::int64_t c = first; c < first + width; ++c) changed.x.set({r, c}, -kInfinity);
      }
      against_base(changed, good, [&](std::int64_t column) {
        if (column < first) return column;
        return column < first + width ? std::int64_t{-1} : column - width;
      });
    }
    SoftmaxProblem nothing = p;
    nothing.x = mapped(p.x, [](double) { return -kInfinity; });
    all_empty(nothing, [](std::int64_t) { return -kInfinity; });
    return tally_.verdict("no row of ordinary numbers");
  }

  Verdict of(AttentionProblem p) {
    AttentionProblem nothing = p;
    nothing.key_length.assign(static_cast<std::size_t>(p.sequences()), 0);
    const std::string why = without_positions(p, true);
    if (why.empty() && p.k_length() > 0) {
      nothing = p;
      nothing.bias = mapped(dense_bias(p), [](double) { return -kInfinity; });
      const auto good = ordinary_rows(p);
      const double hidden = trial_.contract().isolates_hidden ? kNan : 1;
      const std::int64_t width = std::min<std::int64_t>(p.k_length(), 32);
      AttentionProblem changed = p;
      insert_keys(changed, drawn_place(p.plan), width, hidden, hidden);
      against_base(changed, good, [](std::int64_t column) { return column; });
    }
    std::vector<double> sink(static_cast<std::size_t>(output_shape(nothing).rows), -kInfinity);
    if (p.has_sink()) {
      for_each_query(p, [&](std::int64_t, std::int64_t h, std::int64_t, std::int64_t row) {
        sink[static_cast<std::size_t>(row)] = p.sink.at({h});
      });
    }
    all_empty(nothing, [&](std::int64_t row) { return sink[static_cast<std::size_t>(row)]; });
    return tally_.verdict(why.empty() ? "no row of ordinary numbers" : why);
  }

 private:
  /// source(column): of the case's output, −1 where the empty state's own 0 stands.
  template <class Source>
  void against_base(const Problem& changed, std::span<const std::uint8_t> rows, Source source) {
    if (!tally_.taken(trial_.refusal(changed))) return;
    const Output output = trial_.run(changed);
    const Bound bound = trial_.bound_of(changed);
    const Reading computed(output, bound, trial_.contract());
    const Reading base(trial_.output(), trial_.bound(), trial_.contract());
    constexpr std::string_view kRelation = "with an empty state more against without";
    for (std::int64_t r = 0; r < computed.rows(); ++r) {
      if (rows[static_cast<std::size_t>(r)] == 0) continue;
      tally_.same_element(computed, base, Part::lse, r, 0, r, 0, kRelation);
      for (std::int64_t c = 0; c < computed.width(); ++c) {
        const std::int64_t from = source(c);
        if (from >= 0 && from < base.width()) {
          tally_.same_element(computed, base, Part::o, r, c, r, from, kRelation);
        } else {
          compare(tally_, computed, Part::o, r, c, expect(exactly(0)), "of the empty state itself");
        }
      }
    }
  }

  template <class Lse>
  void all_empty(const Problem& nothing, Lse lse) {
    if (!tally_.taken(trial_.refusal(nothing))) return;
    const Output output = trial_.run(nothing);
    const Bound bound = trial_.bound_of(nothing);
    const Reading computed(output, bound, trial_.contract());
    for (std::int64_t r = 0; r < computed.rows(); ++r) {
      const double sink = lse(r);
      if (std::isnan(sink) || sink == kInfinity) continue;
      constexpr std::string_view kRelation = "of nothing but empty states";
      compare(tally_, computed, Part::lse, r, 0, std::isfinite(sink) ? expect(exactly(sink)) : expect_special(sink),
              kRelation);
      for (std::int64_t c = 0; c < computed.width(); ++c) {
        compare(tally_, computed, Part::o, r, c, expect(exactly(0)), kRelation);
      }
    }
  }

  /// Before the first chunk, in the middle, or behind the last.
  int drawn_place(const ChunkPlan& plan) { return (plan.chunks() * static_cast<int>(random_.integer(0, 2)) + 1) / 2; }

  Trial& trial_;
  Random random_;
  Comparison tally_;
};

Verdict relate(Trial& trial) {
  return visit_forward([&](const auto& p) { return Check(trial).of(p); }, trial.problem());
}

}  // namespace

Law empty_state_is_identity() {
  return {"a state or a key that stands for nothing changes nothing, and nothing else is 0 and -inf", kTeeth, relate,
          empty_state_of_gradients};
}

}  // namespace flashproof::law::empty_state_is_identity
