// What one NaN makes of the gradients, and what it leaves alone. With o and lse as they are stored (a stage):
//   q_i, lse_i   dq_i, and dk_j, dv_j of every key that query i sees      k_j   dk_j, dv_j, and dq_i of every query that sees it
//   dO_ic        dq_i, dk_j of those keys, column c of their dv           o_i   dq_i, dk_j; no dv
//   v_j          dk_j, and dq_i of every query that sees key j; no dv
// are NaN; an infinity in dO, o or v makes the same elements NaN or infinite. A kernel that makes its own o and lse is given none;
// what q_i, k_j or v_j make of these goes on as if it stood there:
//   q_i          as in q_i and lse_i      k_j   as in lse_i of every query that sees key j      v_j   as in o_i of these
// where a NaN in o_i and dO_i is promised of the pairs whose weight does not underflow.
// All other elements keep their bits, or, where the kernel does not declare itself deterministic and every input was an ordinary
// number, their numbers within both bounds. A NaN is promised of elements in the kernel's domain whose every input was an ordinary
// number (compare_backward.h).
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/parts_backward.h"
#include "properties/laws/support/same_outputs.h"
#include "properties/laws/support/weights.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "visible_nan_is_not_laundered";

enum class Where : std::uint8_t { q, k, v, d_out, o, lse };
constexpr int kPlaces = 6, kPlacesOfOwnForward = 4;
constexpr std::string_view kNames[] = {"q", "k", "v", "dO", "o", "lse"};
constexpr int kTurns = 3;

enum class Wanted : std::uint8_t { same, special, free };

/// Which pairs have a weight that no kernel takes for 0: one that makes its own may leave out what underflows. Of a stage all.
class Weights {
 public:
  explicit Weights(const BackwardProblem& p) : keys_(static_cast<std::size_t>(p.forward.k_length())) {
    if (p.mode == BackwardMode::stage) return;
    constexpr double kLeast = 0x1p-8;
    weigh_.assign(static_cast<std::size_t>(p.query_rows()) * keys_, 0);
    for_each_row(p.forward, Scores::compute, [&](const RowWeights& row) {
      RowSum sum;
      if (!sum_of(row, sum)) return;
      const double most = sum.sum.value + sum.sum.radius;
      for (std::size_t n = 0; n < row.key.size(); ++n) {
        const bool heavy = sum.weight[n].value - sum.weight[n].radius >= kLeast * most;
        weigh_[index(row.row, row.key[n])] = heavy ? 1 : 0;
      }
    });
  }
  bool weigh(std::int64_t row, std::int64_t key) const { return weigh_.empty() || weigh_[index(row, key)] != 0; }

 private:
  std::size_t index(std::int64_t row, std::int64_t key) const {
    return static_cast<std::size_t>(row) * keys_ + static_cast<std::size_t>(key);
  }

  std::size_t keys_;
  std::vector<std::uint8_t> weigh_;
};

class Planting {
 public:
  /// `dense`: the problem before. The references must outlive this.
  Planting(const BackwardProblem& dense, const OrdinaryGradients& ordinary, const Weights& weights, const Bound& bound)
      : problem(dense), given_(dense.forward), ordinary_(ordinary), weights_(weights), bound_(bound) {
    const AttentionProblem& f = given_;
    wanted_[0].assign(static_cast<std::size_t>(problem.query_rows() * f.head_dim()), Wanted::same);
    wanted_[1].assign(static_cast<std::size_t>(problem.key_rows() * f.head_dim()), Wanted::same);
    wanted_[2].assign(static_cast<std::size_t>(problem.key_rows() * f.value_dim()), Wanted::same);
  }

  /// In one element of a query or a key of this kv head.
  void plant(std::int64_t b, std::int64_t kv, Where where, Random& random);
  Wanted wanted(Part part, std::int64_t index) const {
    return wanted_[static_cast<std::size_t>(part) - static_cast<std::size_t>(Part::dq)]
                  [static_cast<std::size_t>(index)];
  }

  /// Before.
  bool ordinary(Part part, std::int64_t row) const {
    return (part == Part::dq ? ordinary_.query : ordinary_.key)[static_cast<std::size_t>(row)] != 0;
  }

  BackwardProblem problem;
  std::string planted;  // for a reader
  bool leaks_allowed = false;

 private:
  void at_query(std::int64_t b, std::int64_t h, std::int64_t i, Where where, std::int64_t c, double value);
  void at_key(std::int64_t b, std::int64_t kv, std::int64_t j, Where where, std::int64_t c, double value);
  bool own_forward() const { return problem.mode == BackwardMode::gradient; }
  /// What follows for the query and for every key that it sees.
  void spread(std::int64_t b, std::int64_t h, std::int64_t i, Where where, std::int64_t c, bool certain = true);
  /// The row, or one column of it.
  void want(Part part, std::int64_t row, bool certain, std::int64_t column = -1);

  const AttentionProblem& given_;
  const OrdinaryGradients& ordinary_;
  const Weights& weights_;
  const Bound& bound_;
  std::vector<Wanted> wanted_[3];
};

void Planting::want(Part part, std::int64_t row, bool certain, std::int64_t column) {
  const std::int64_t width = part == Part::dv ? given_.value_dim() : given_.head_dim();
  const auto& domain = part == Part::dq ? bound_.query_domain : bound_.key_domain;
  certain = certain && domain[static_cast<std::size_t>(row)].holds();
  for (std::int64_t c = 0; c < width; ++c) {
    if (column >= 0 && c != column) continue;
    Wanted& w = wanted_[static_cast<std::size_t>(part) - static_cast<std::size_t>(Part::dq)]
                       [static_cast<std::size_t>(row * width + c)];
    if (w != Wanted::special) w = certain ? Wanted::special : Wanted::free;
  }
}

void Planting::at_query(std::int64_t b, std::int64_t h, std::int64_t i, Where where, std::int64_t c, double value) {
  if (where == Where::lse) {
    problem.lse.set({b, h, i}, value);
  } else {
    (where == Where::q ? problem.forward.q : where == Where::o ? problem.o : problem.d_out).set({b, h, i, c}, value);
  }
  spread(b, h, i, where == Where::q && own_forward() ? Where::lse : where, c);
}

void Planting::spread(std::int64_t b, std::int64_t h, std::int64_t i, Where where, std::int64_t c, bool certain) {
  const std::int64_t row = query_row(given_, b, h, i);
  certain = certain && ordinary_.query[static_cast<std::size_t>(row)] != 0;
  const auto keys = given_.visible_keys(b, i);
  for (std::int64_t j = 0; j < given_.k_length(); ++j) {
    const std::int64_t key = key_row(given_, b, given_.kv_head(h), j);
    const bool in_range = j >= keys.first && j < keys.last;
    if (!in_range || given_.hidden_by_bias(b, h, i, j)) {
      if (where != Where::lse || !(in_range || own_forward())) continue;
      want(Part::dk, key, false);  // e^(−inf − NaN) may be NaN, or be left out
      want(Part::dv, key, false);
      continue;
    }
    // Of e^(s − NaN) the weight says nothing, of 0 · NaN a kernel may make 0.
    const bool weighs = certain && (where == Where::lse || weights_.weigh(row, j));
    want(Part::dq, row, certain);
    want(Part::dk, key, weighs);
    if (where == Where::d_out) want(Part::dv, key, weighs, c);
    if (where == Where::q || where == Where::lse) want(Part::dv, key, weighs);
  }
}

void Planting::at_key(std::int64_t b, std::int64_t kv, std::int64_t j, Where where, std::int64_t c, double value) {
  (where == Where::k ? problem.forward.k : problem.forward.v).set({b, kv, j, c}, value);
  const std::int64_t key = key_row(given_, b, kv, j);
  for (const std::int64_t h : group_of(given_, kv)) {
    for (std::int64_t i = 0; i < given_.q_length(); ++i) {
      const auto keys = given_.visible_keys(b, i);
      if (j < keys.first || j >= keys.last || given_.hidden_by_bias(b, h, i, j)) continue;
      if (own_forward()) {
        const bool weighs = where == Where::k || weights_.weigh(query_row(given_, b, h, i), j);
        spread(b, h, i, where == Where::k ? Where::lse : Where::o, c, weighs);
        continue;
      }
      const std::int64_t row = query_row(given_, b, h, i);
      const bool ordinary = ordinary_.query[static_cast<std::size_t>(row)] != 0;
      want(Part::dq, row, ordinary);
      want(Part::dk, key, ordinary);
      if (where == Where::k) want(Part::dv, key, ordinary);
    }
  }
}

void Planting::plant(std::int64_t b, std::int64_t kv, Where where, Random& random) {
  const bool key = where == Where::k || where == Where::v;
  const std::int64_t widths[] = {given_.head_dim(),  given_.head_dim(),  given_.value_dim(),
                                 given_.value_dim(), given_.value_dim(), 1};
  const std::int64_t c = random.integer(0, widths[static_cast<int>(where)] - 1);
  const bool infinite = (where == Where::v || where == Where::d_out || where == Where::o) && random.chance(0.3);
  const double value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::int64_t> group = group_of(given_, kv);
  const std::int64_t h = group[static_cast<std::size_t>(random.integer(0, std::ssize(group) - 1))];
  const std::int64_t n = random.integer(0, (key ? given_.k_length() : given_.q_length()) - 1);
  if (planted.empty()) {
    planted = fmt::format("{} at {}[{}, {}, {}, {}]", value, kNames[static_cast<int>(where)], b, key ? kv : h, n, c);
  } else if (!planted.ends_with("others")) {
    planted += " and others";
  }
  if (key) {
    at_key(b, kv, n, where, c, value);
  } else {
    at_query(b, h, n, where, c, value);
  }
}

/// With o and lse as inputs where the kernel takes them. Dense: an element of its own for every place.
BackwardProblem dense_problem(const Trial& trial) {
  BackwardProblem p = with_any_forward(trial);
  AttentionProblem& f = p.forward;
  for (Tensor* tensor : {&f.q, &f.k, &f.v, &p.d_out, &p.o, &p.lse}) {
    *tensor = gather(*tensor, 0, iota(tensor->shape[0]));
  }
  return p;
}

void compare(Trial& trial, const Planting& planting, const Output& before, const Output& after, Comparison& tally) {
  const GradientReading given(before, trial.bound()), changed(after, trial.bound());
  Comparison unseen;  // what sees nothing of it, where the bits of two runs may differ
  for (const Part part : kGradientParts) {
    const std::int64_t width = given.width(part);
    for (std::int64_t n = 0; n < given.rows(part) * width; ++n) {
      const std::int64_t row = n / width, c = n % width;
      const double x = given.value(part, row, c), y = changed.value(part, row, c);
      const auto where = [&] { return fmt::format("{}: {:.9g} against {:.9g}", place_of(part, row, c), y, x); };
      const bool same = given.tensor(part).bits(n) == changed.tensor(part).bits(n) || (std::isnan(x) && std::isnan(y));
      switch (planting.wanted(part, n)) {
        case Wanted::free:
          break;
        case Wanted::special:
          if (std::isfinite(y)) {
            tally.fail(Failure::laundering, where() + ", which sees " + planting.planted);
          } else if (std::isfinite(x)) {
            tally.held();
          }
          break;
        case Wanted::same:
          if (same || planting.leaks_allowed) break;
          if (trial.contract().deterministic) {
            tally.fail(Failure::leak, where() + ", which sees nothing of " + planting.planted);
          } else if (planting.ordinary(part, row)) {
            same_gradient(unseen, part, changed, row, given, row, c, "within both bounds");
          }
      }
    }
  }
  if (const Verdict leak = unseen.verdict(""); leak.failed()) {
    tally.fail(Failure::leak, leak.detail + ", which sees nothing of " + planting.planted);
  }
}

}  // namespace

Verdict visible_nan_of_gradients(Trial& trial) {
  const AttentionProblem& f = gradient_of(trial).forward;
  if (gradient_of(trial).query_rows() == 0 || gradient_of(trial).key_rows() == 0 || f.head_dim() == 0 ||
      f.value_dim() == 0) {
    return vacuous("no pair");
  }
  Random random = trial.random(kName);
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  const bool own = trial.kernel().own_forward;
  const int places = own ? kPlacesOfOwnForward : kPlaces;
  const std::int64_t start = random.integer(0, places - 1);
  const BackwardProblem dense = dense_problem(trial);
  if (std::string why = trial.refusal(dense); !why.empty()) return unsupported(std::move(why));
  const Weights weights(dense);
  // A callable may sum in another order in another layout, which layout_invariance is about.
  const Output before = own ? trial.run(dense) : trial.output();
  Comparison tally;
  for (int turn = 0; turn < kTurns; ++turn) {
    Planting planting(dense, ordinary, weights, trial.bound());
    planting.leaks_allowed = !trial.contract().isolates_hidden;
    for (std::int64_t b = 0; b < f.batch(); ++b) {
      for (std::int64_t kv = 0; kv < f.k_heads(); ++kv) {
        const auto where = static_cast<Where>((start + (own ? 1 : 2) * turn + b * f.k_heads() + kv) % places);
        planting.plant(b, kv, where, random);
      }
    }
    if (!tally.taken(trial.refusal(planting.problem))) continue;
    compare(trial, planting, before, trial.run(planting.problem), tally);
  }
  return tally.verdict("no pair of ordinary numbers sees what was planted");
}

}  // namespace flashproof
