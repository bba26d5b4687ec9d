// A key that is taken away takes its weight with it. With λ before and λ' after, E = e^{λ'−λ}: o = E o' + (1 − E) v_j,
// and if the score z of key j is known, E + e^{z−λ} = 1. The radii of both lse go through E. A kernel that never read
// the key has E = 1.
//
// So that the key weighs something, its score is made the case's own lse as rounded to storage: a softmax's column, a
// state's lse, in attention k = 0 with that bias (plus ALiBi's term). Each row loses another key: the first, the last,
// those at the edges of the plan and of tiles of 16 to 128, some at random. Keys go by −inf, at the end by a shorter
// length, at the sides by a narrower window. Packed sequences have no bias: there the last key goes, of whatever
// weight.
#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/lost_keys.h"
#include "reference/problem/score_terms.h"
#include "reference/problem/special_values.h"

namespace flashproof::law::dropped_key_is_noticed {
namespace {

constexpr std::string_view kName = "dropped_key_is_noticed";
constexpr std::string_view kTeeth[] = {"softmax.broken.tail_dropped",
                                       "attention.broken.tail_scored_zero",
                                       "attention.broken.tail_not_masked",
                                       "attention.broken.last_tile_dropped",
                                       "attention.broken.last_split_dropped",
                                       "attention.broken.causal_top_left",
                                       "attention.broken.causal_tile_skipped_early",
                                       "attention.broken.window_one_wide",
                                       "attention.broken.idle_split_not_written"};

/// What the distance of query and key takes from a score.
Measured penalty(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) {
  Measured taken = exactly(0);
  for_each_distance_term(p, s, h, p.distance(s, i, j), [&](double value, std::int64_t times) {
    taken = taken - exactly(value) * exactly(static_cast<double>(times));
  });
  return taken;
}

class Check {
 public:
  explicit Check(Trial& trial) : random_(trial.random(kName)), runs_(trial) {
    const Reading base(trial.output(), trial.bound(), trial.contract());
    for (std::int64_t r = 0; r < base.rows(); ++r) {
      const double lse = base.value(Part::lse, r, 0);
      level_.push_back(std::isfinite(lse) ? lse : 0);
    }
    lost_.resize(level_.size());
  }

  Verdict of(SoftmaxProblem p);
  Verdict of(MergeProblem p);
  Verdict of(AttentionProblem p);

 private:
  double level(std::int64_t row) const { return level_[static_cast<std::size_t>(row)]; }
  LostKey& lost(std::int64_t row) { return lost_[static_cast<std::size_t>(row)]; }

  Random random_;
  std::vector<double> level_;  // the case's own lse, 0 where it is no number
  std::vector<LostKey> lost_;
  LostKeys runs_;
};

Verdict Check::of(SoftmaxProblem p) {
  const std::int64_t rows = p.x.shape[0], cols = p.x.shape[1];
  if (cols == 0) return vacuous("no columns");
  const auto some = telling_places(cols, &p.plan, random_);
  const auto length = [&](std::int64_t r) { return length_of(p, r); };
  const auto visible = [&](std::int64_t r, std::int64_t j) {
    return j >= 0 && j < length(r) && p.x.at({r, j}) > -kInfinity;
  };
  p.x = mapped(p.x, [](double x) { return x; });  // a copy of its own: strides may overlap
  SoftmaxProblem shorter = p;
  std::vector<LostKey> hidden(lost_.size()), last(lost_.size());
  shorter.row_length.clear();
  for (std::int64_t r = 0; r < rows; ++r) {
    const double most = info(p.x.format).max_finite;
    const auto raise = [&](std::int64_t j) {
      if (j == kNoKey) return LostKey{};
      p.x.set({r, j}, std::clamp(level(r), -most, most));
      return LostKey{j, exactly(p.x.at({r, j}))};
    };
    hidden[static_cast<std::size_t>(r)] = raise(choose_place(some, r, [&](std::int64_t j) { return visible(r, j); }));
    last[static_cast<std::size_t>(r)] = raise(visible(r, length(r) - 1) ? length(r) - 1 : kNoKey);
    shorter.row_length.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(length(r) - 1, 0)));
  }
  shorter.x = p.x;
  SoftmaxProblem changed = p;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t j = hidden[static_cast<std::size_t>(r)].key;
    if (j != kNoKey) changed.x.set({r, j}, -kInfinity);
  }
  const auto value = [&](std::int64_t r, std::int64_t c) { return c == lost(r).key ? 1.0 : 0.0; };
  lost_ = std::move(hidden);
  runs_.compare(p, changed, lost_, value);
  lost_ = std::move(last);
  runs_.compare(p, shorter, lost_, value);
  return runs_.verdict();
}

Verdict Check::of(MergeProblem p) {
  const std::int64_t n = p.o.shape[0], rows = p.o.shape[1], width = p.o.shape[2];
  const auto some = telling_places(n, nullptr, random_);
  p.lse = mapped(p.lse, [](double x) { return x; });
  if (p.has_l()) p.l = mapped(p.l, [](double x) { return x; });
  MergeProblem changed = p;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t j = choose_place(some, r, [&](std::int64_t c) { return p.lse.at({c, r}) > -kInfinity; });
    if (j == kNoKey) continue;
    p.lse.set({j, r}, level(r));
    if (p.has_l()) p.l.set({j, r}, 1);
    lost(r) = {j, exactly(level(r))};
  }
  changed.lse = p.lse;
  changed.l = p.l;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (lost(r).key != kNoKey) changed.lse.set({lost(r).key, r}, -kInfinity);
  }
  const bool concat = p.form == MergeForm::concat;
  runs_.compare(p, changed, lost_, [&](std::int64_t r, std::int64_t c) {
    const std::int64_t j = lost(r).key;
    if (!concat) return p.o.at({j, r, c});
    return c / width == j ? p.o.at({j, r, c % width}) : 0.0;
  });
  return runs_.verdict();
}

/// k = 0 at these places, and there a bias that gives each of them this score in its row. Places hidden by the bias
/// stay so.
void raise(AttentionProblem& p, const std::vector<std::int64_t>& places, const std::vector<double>& level) {
  p.bias = mapped(dense_bias(p), [](double x) { return x; });
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (const std::int64_t j : places) {
      if (j >= p.k_length(s)) continue;
      for (std::int64_t h = 0; h < p.k_heads(); ++h) {
        for (std::int64_t c = 0; c < p.head_dim(); ++c) {
          p.k.set_bits(p.k_offset(s, h, j) + c * p.k.stride[3], encode(p.k.format, 0));
        }
      }
    }
  }
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    for (const std::int64_t j : places) {
      if (p.bias.at({s, h, i, j}) == -kInfinity) continue;
      p.bias.set({s, h, i, j}, level[static_cast<std::size_t>(row)] + penalty(p, s, h, i, j).value);
    }
  });
}

/// Every sequence without its last key.
AttentionProblem without_last_keys(const AttentionProblem& p) {
  AttentionProblem shorter = p;
  shorter.key_length.clear();
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    shorter.key_length.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(p.visible_length(s) - 1, 0)));
  }
  return shorter;
}

/// One key less on one side; the same where both sides are closed.
AttentionProblem with_smaller_window(const AttentionProblem& p) {
  AttentionProblem window = p;
  if (p.window_left > 0) {
    window.window_left -= 1;
  } else if (p.window_right > 0) {
    window.window_right -= 1;
  }
  return window;
}

Verdict Check::of(AttentionProblem p) {
  if (p.k_length() == 0) return vacuous("no keys");
  std::vector<std::int64_t> some;
  if (!p.packed()) {
    some = telling_places(p.k_length(), &p.plan, random_);
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      const std::int64_t last = p.visible_length(s) - 1;
      if (last >= 0 && std::ranges::find(some, last) == some.end()) some.push_back(last);
    }
    raise(p, some, level_);
  }
  const auto lose = [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row, std::int64_t j) {
    LostKey& gone = lost(row);
    gone = {};
    if (j == kNoKey || p.hidden_by_bias(s, h, i, j)) return;
    gone.key = j;
    if (std::ranges::find(some, j) != some.end()) {
      gone.score = exactly(p.bias.at({s, h, i, j})) - penalty(p, s, h, i, j);
    }
  };
  // Of a row's lost key, v with its factor; the row's sequence and kv head are kept beside it.
  std::vector<std::pair<std::int64_t, std::int64_t>> heads(level_.size());
  const auto value = [&](std::int64_t row, std::int64_t c) {
    const auto [s, kv] = heads[static_cast<std::size_t>(row)];
    return decode(p.v.format, p.v.bits(p.v_offset(s, kv, lost(row).key) + c * p.v.stride[3])) *
           AttentionProblem::descale(p.v_descale, s, kv);
  };
  AttentionProblem hidden = p;
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    heads[static_cast<std::size_t>(row)] = {s, p.kv_head(h)};
    const auto keys = p.visible_keys(s, i);
    lose(s, h, i, row, choose_place(some, row, [&](std::int64_t j) {
           return keys.first <= j && j < keys.last && !p.hidden_by_bias(s, h, i, j);
         }));
    if (lost(row).key != kNoKey) hidden.bias.set({s, h, i, lost(row).key}, -kInfinity);
  });
  if (!p.packed()) runs_.compare(p, hidden, lost_, value);
  const auto narrower = [&](const AttentionProblem& changed) {
    for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
      const auto with = p.visible_keys(s, i), without = changed.visible_keys(s, i);
      const bool all_gone = without.first >= without.last;
      std::int64_t j = kNoKey;
      if (with.first < with.last && (all_gone || without.last < with.last)) j = with.last - 1;
      if (with.first < with.last && !all_gone && without.first > with.first) j = with.first;
      lose(s, h, i, row, j);
    });
    runs_.compare(p, changed, lost_, value);
  };
  const bool windowed = p.window_left >= 0 || p.window_right >= 0;
  if (!p.paged() || !p.positions_matter()) {  // there a length moves the keys
    narrower(without_last_keys(p));
  }
  if (windowed) {
    if (const AttentionProblem window = with_smaller_window(p); !(window == p)) narrower(window);
  }
  return runs_.verdict();
}

Verdict relate(Trial& trial) {
  return visit_forward([&](const auto& p) { return Check(trial).of(p); }, trial.problem());
}

}  // namespace

Law dropped_key_is_noticed() { return {"a key taken away takes its weight from lse and o", kTeeth, relate}; }

}  // namespace flashproof::law::dropped_key_is_noticed
