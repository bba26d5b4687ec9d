#include "reference/bound/merge/test/attack_merge.h"

#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/merge/merge_tree.h"

namespace flashproof::bound {

namespace {

/// A state, or a node: m or λ, l, and per leaf what multiplies its value.
struct State {
  Real max = 0;
  Real sum = 1;
  std::vector<std::size_t> leaves;
};

struct Scene {
  std::vector<Real> max, sum, value, lse, p;  // of the states that are not empty; value = O/l
  std::vector<bool> present;
  std::vector<std::size_t> column;
  Real total_lse = 0, exact = 0;

  explicit Scene(const MergeProblem& problem) {
    for (const std::int32_t c : problem.order) {
      const Real m = problem.lse.at({c, 0});
      const Real l = problem.has_l() ? problem.l.at({c, 0}) : 1;
      present.push_back(m != -INFINITY && l > 0);
      if (!present.back()) continue;
      max.push_back(m);
      sum.push_back(l);
      value.push_back(static_cast<Real>(problem.o.at({c, 0, 0})));
      lse.push_back(m + std::log(l));
      column.push_back(static_cast<std::size_t>(c));
    }
    const Real largest = *std::max_element(lse.begin(), lse.end());
    Real weights = 0;
    for (const Real x : lse) weights += std::exp(x - largest);
    total_lse = largest + std::log(weights);
    for (std::size_t c = 0; c < lse.size(); ++c) {
      p.push_back(std::exp(lse[c] - total_lse));
      exact += p[c] * value[c] / sum[c];
    }
  }
  std::size_t size() const { return lse.size(); }
};

/// What came out: per state the block (its factor times its value, before the last rounding), their sum and lse.
struct Result {
  std::vector<Real> block;
  Real o = 0, lse = 0;
};

class Combination {
 public:
  Combination(const Scene& scene, Machine& machine, bool concat) : s_(scene), m_(machine), concat_(concat) {}

  Result tree(const std::vector<Join>& joins) {
    nodes_.clear();
    for (std::size_t c = 0; c < s_.size(); ++c) nodes_.push_back({s_.max[c], s_.sum[c], {c}});
    block_ = s_.value;
    node_value_ = s_.value;
    for (std::size_t k = 0; k < joins.size(); ++k) join(joins[k], k + 1 == joins.size());
    Result result{block_, node_value_.back(), nodes_.back().max};
    if (weights() == MergeWeights::max_sum) {
      const Real l = nodes_.back().sum;
      result.lse += m_.log(l);
      for (Real& block : result.block) block = ended(block, l, nodes_.back().max, result.lse);
      result.o = ended(result.o, l, nodes_.back().max, result.lse);
    }
    return result;
  }

  Result flat() {
    const Real frame = *std::max_element(s_.max.begin(), s_.max.end());
    const bool shifted = weights() != MergeWeights::unshifted;
    std::vector<Real> w;
    Real l = 0;
    for (std::size_t c = 0; c < s_.size(); ++c) {
      m_.aim(aim_of(c));
      w.push_back(shifted ? m_.exponential(s_.max[c], frame) : m_.unshifted(s_.max[c]));
      m_.aim(-s_.exact);
      l = weights() == MergeWeights::max_sum ? m_.fma(w[c], s_.sum[c], l) : c == 0 ? w[c] : m_.add(l, w[c]);
    }
    Result result;
    result.lse = (shifted ? frame : 0) + m_.log(l);
    const bool free = weights() == MergeWeights::division_free;
    if (free) {
      const Real rounded = s_.size() == 1 ? result.lse : m_.add(frame, result.lse - frame);
      for (std::size_t c = 0; c < s_.size(); ++c) {
        m_.aim(aim_of(c));
        w[c] = m_.exponential(s_.max[c], rounded);
      }
    }
    Real n = 0;
    for (std::size_t c = 0; c < s_.size(); ++c) {
      m_.aim(s_.value[c]);
      const bool last = free && c + 1 == s_.size();
      n = last ? w[c] * s_.value[c] + n : m_.fma(w[c], s_.value[c], n);
      const Real block = free ? w[c] * s_.value[c] : m_.mul(w[c], s_.value[c]);
      result.block.push_back(free ? block : ended(block, l, shifted ? frame : 0, result.lse));
    }
    result.o = free ? n : ended(n, l, shifted ? frame : 0, result.lse);
    return result;
  }

 private:
  MergeWeights weights() const { return m_.arithmetic().merge_weights; }
  Real aim_of(std::size_t c) const { return s_.value[c] / s_.sum[c] - s_.exact; }

  /// N/l, the last operation exact.
  Real ended(Real n, Real l, Real frame, Real lse) {
    switch (m_.arithmetic().ending) {
      case Ending::divide:
        return n / l;
      case Ending::multiply_reciprocal:
        return n * m_.reciprocal(l);
      case Ending::division_free:
        break;
    }
    return n * m_.exponential(frame, m_.add(frame, lse - frame));
  }

  /// Both weights of a join, and the new state.
  void join(const Join& join, bool root) {
    const State a = nodes_[join.left];
    const State b = nodes_[join.right];
    State node;
    node.leaves = a.leaves;
    node.leaves.insert(node.leaves.end(), b.leaves.begin(), b.leaves.end());
    m_.aim(node_value_[join.left] / a.sum - node_value_[join.right] / b.sum);
    Real keep = 1;
    Real add = 1;
    Real divide_a = 1;
    Real divide_b = 1;
    Real lse = 0;
    switch (weights()) {
      case MergeWeights::stable: {
        const Real larger = std::max(a.max, b.max);
        const Real e = m_.exponential(std::min(a.max, b.max), larger);
        const Real s = m_.add(1, e);
        const bool mr = m_.arithmetic().ending == Ending::multiply_reciprocal;
        const Real r = mr ? m_.reciprocal(s) : m_.div(1, s);
        const Real small = mr ? m_.mul(e, r) : m_.div(e, s);
        keep = a.max > b.max ? r : small;
        add = a.max > b.max ? small : r;
        lse = larger + m_.log(s);
        node.max = rounded_lse(larger, lse - larger);
        break;
      }
      case MergeWeights::one_sided: {
        const Real s = m_.add(1, m_.exponential(b.max, a.max));
        divide_a = s;
        divide_b = m_.add(1, m_.exponential(a.max, b.max));
        lse = a.max + m_.log(s);
        node.max = rounded_lse(a.max, lse - a.max);
        break;
      }
      case MergeWeights::running: {
        lse = a.max + m_.log(m_.add(1, m_.exponential(b.max, a.max)));
        const Real used = m_.add(a.max, lse - a.max);  // f32, before it is stored
        node.max = m_.to_lse(used);
        keep = m_.exponential(a.max, used);
        add = m_.exponential(b.max, used);
        break;
      }
      default: {
        node.max = std::max(a.max, b.max);
        keep = m_.exponential(a.max, node.max);
        add = m_.exponential(b.max, node.max);
        node.sum = m_.add(m_.mul(a.sum, keep), m_.mul(b.sum, add));
      }
    }
    if (root && weights() != MergeWeights::max_sum) node.max = lse;  // its last rounding is the verdict's
    const bool exact_last = root && weights() != MergeWeights::max_sum;
    const auto scaled = [&](Real value, Real factor, Real divisor, bool exact) {
      m_.aim(value);
      if (weights() == MergeWeights::one_sided) return exact ? value / divisor : m_.div(value, divisor);
      return exact ? value * factor : m_.mul(value, factor);
    };
    const Real left = scaled(node_value_[join.left], keep, divide_a, false);
    const Real right = scaled(node_value_[join.right], add, divide_b, false);
    if (concat_) {
      for (const std::size_t c : a.leaves) block_[c] = scaled(block_[c], keep, divide_a, exact_last);
      for (const std::size_t c : b.leaves) block_[c] = scaled(block_[c], add, divide_b, exact_last);
    }
    m_.aim(left + right);
    node_value_.push_back(exact_last ? left + right : m_.add(left, right));
    nodes_.push_back(node);
  }

  Real rounded_lse(Real larger, Real term) { return m_.to_lse(m_.add(larger, term)); }

  const Scene& s_;
  Machine& m_;
  bool concat_;
  std::vector<State> nodes_;
  std::vector<Real> node_value_;
  std::vector<Real> block_;
};

}  // namespace

MergeProblem draw_merge(Random& random, const Arithmetic& arithmetic, MergeForm form, int most) {
  const std::int64_t n = random.integer(1, random.chance(0.7) ? std::min(most, 12) : most);
  MergeProblem p;
  p.form = form;
  p.o = Tensor::dense(Format::f32, {n, 1, 1});
  p.lse = Tensor::dense(Format::f32, {n, 1});
  const bool has_l = arithmetic.merge_weights == MergeWeights::max_sum && random.chance(0.5);
  if (has_l) p.l = Tensor::dense(Format::f32, {n, 1});
  const bool narrow = arithmetic.lse_format == Format::f16;
  const std::int64_t where = random.integer(0, 3);
  const bool unshifted = arithmetic.merge_weights == MergeWeights::unshifted;
  const double offset =
      where == 0 || unshifted ? 0 : std::exp2(random.uniform(0, narrow ? 14 : 20)) * (where == 1 ? -1 : 1);
  const double spread = std::ldexp(1, static_cast<int>(random.integer(-10, 4)));
  const double gap = random.uniform(80, 110);
  const std::int64_t shape = random.integer(0, 4);
  const std::int64_t kind = random.integer(0, 4);
  for (std::int64_t c = 0; c < n; ++c) {
    const double t = static_cast<double>(c) / static_cast<double>(n);
    const double lse = shape == 0   ? spread * random.uniform(-1, 1)
                       : shape == 1 ? spread * t
                       : shape == 2 ? 0
                       : shape == 3 ? -spread * t
                                    : (random.chance(0.5) ? gap : 0);
    const double v = kind == 0   ? random.uniform(-1, 1)
                     : kind == 1 ? random.uniform()
                     : kind == 2 ? (c == 0 ? 1 : 0)
                     : kind == 3 ? (c % 2 == 0 ? 1 : -1)
                                 : 1;
    const double l = has_l ? std::exp2(random.uniform(-3, 8)) : 1;
    p.lse.set({c, 0}, random.chance(0.05) && n > 1 && c > 0 ? -INFINITY : static_cast<float>(offset + lse));
    p.o.set({c, 0, 0}, static_cast<float>(v * l));
    if (has_l) p.l.set({c, 0}, random.chance(0.03) && c > 0 ? 0 : static_cast<float>(l));
    p.order.push_back(static_cast<std::int32_t>(c));
  }
  for (std::size_t c = p.order.size(); c-- > 1;) {
    std::swap(p.order[c], p.order[random.integer(0, static_cast<std::int64_t>(c))]);
  }
  if (arithmetic.reduction == Reduction::pairwise_tree && n > 1 && random.chance(0.5)) {
    std::vector<std::int32_t> open(p.order.size());
    for (std::size_t c = 0; c < open.size(); ++c) open[c] = static_cast<std::int32_t>(c);
    const auto take = [&] {
      const auto at = random.integer(0, static_cast<std::int64_t>(open.size()) - 1);
      const std::int32_t node = open[at];
      open.erase(open.begin() + at);
      return node;
    };
    while (open.size() > 1) {
      const std::int32_t left = take();
      const std::int32_t right = take();
      open.push_back(static_cast<std::int32_t>(p.order.size() + p.joins.size()));
      p.joins.push_back({.left = left, .right = right});
    }
  }
  return p;
}

void attack_merge(const MergeProblem& problem, Machine machine, const Arithmetic& declared, AttackWorst& worst) {
  const Bound bound = compute_bound(problem, declared);
  if (!bound.domain[0].form.holds()) ++worst.broken_forms;
  if (!bound.domain[0].holds() || !bound.domain[0].form.holds()) return;
  const Scene scene(problem);
  Combination combination(scene, machine, problem.form == MergeForm::concat);
  const Reduction reduction = machine.arithmetic().reduction;
  const Result got =
      reduction == Reduction::flat
          ? combination.flat()
          : combination.tree(
                pruned(joins_of(reduction, static_cast<int>(problem.order.size()), problem.joins), scene.present));
  const Real noise = 1e-18L * (1 + std::fabs(scene.total_lse));  // of long double: 2^-64 of a few operations
  if (problem.form == MergeForm::sum) {
    const Real error = std::fabs(got.o - scene.exact);
    worst.o.take(error, bound.o[0].total(), noise);
    worst.likely.take(error, bound.o[0].probable, noise);
    ++worst.elements;
    if (scene.size() >= 8 && bound.o[0].total() < bound.range[0] / 2) {
      worst.reached.take(error, bound.o[0].total(), noise);
    }
  } else {
    for (std::size_t c = 0; c < scene.size(); ++c) {
      const Real exact = scene.p[c] * scene.value[c] / scene.sum[c];
      const Real error = std::fabs(got.block[c] - exact);
      const std::size_t at = scene.column[c];
      worst.o.take(error, bound.o[at].total(), noise * std::fabs(exact));
      worst.likely.take(error, bound.o[at].probable, noise * std::fabs(exact));
      ++worst.elements;
      if (scene.size() >= 8 && bound.o[at].total() < bound.range[at] / 2) {
        worst.reached.take(error, bound.o[at].total(), noise * std::fabs(exact));
      }
    }
  }
  const Real lse_error = std::fabs(got.lse - scene.total_lse);
  worst.lse.take(lse_error, bound.lse[0].total(), noise);
  worst.likely.take(lse_error, bound.lse[0].probable, noise);
  ++worst.elements;
}

}  // namespace flashproof::bound
