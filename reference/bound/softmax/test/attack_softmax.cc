#include "reference/bound/softmax/test/attack_softmax.h"

#include <vector>

#include "reference/bound/bound.h"

namespace flashproof::bound {

namespace {

struct Sum {
  Real m = -INFINITY;
  Real d = 0;
};

/// A kernel's run of which output `target` is to be as wrong as it can be.
class Run {
 public:
  Run(const std::vector<Real>& x, const SoftmaxProblem& problem, Machine machine, std::size_t target)
      : x_(x), plan_(problem.plan), m_(std::move(machine)), a_(m_.arithmetic()), target_(target) {
    reduce();
  }

  /// lse without its last rounding, and y of the target without its last.
  Real lse() const { return lse_; }
  Real y() {
    m_.aim(1);
    const Real x = x_[target_];
    if (a_.ending == Ending::division_free) {
      const Real used = a_.reduction == Reduction::unshifted ? lse_ : m_.add(frame_, lse_ - frame_);
      return m_.exponential(x, used);
    }
    if (a_.reduction != Reduction::chunk_states) {
      return ended(a_.reduction == Reduction::unshifted ? m_.unshifted(x) : m_.exponential(x, frame_), sum_, true);
    }
    const int c = chunk_of_[target_];
    const Real e = m_.exponential(x, chunks_[c].m);
    const Real p = ended(e, chunks_[c].d, false);
    const bool sums = a_.merge_weights == MergeWeights::max_sum;
    return ended(m_.mul(sums ? m_.mul(p, chunks_[c].d) : p, weight_[c]), sum_, true);
  }

 private:
  bool flat() const { return a_.reduction == Reduction::two_pass || a_.reduction == Reduction::unshifted; }
  /// The target's own exponential in a sum counts against it.
  void aim_at(std::size_t) { m_.aim(-1); }

  Real ended(Real e, Real d, bool last) {
    if (a_.ending == Ending::divide) return last ? e / d : m_.div(e, d);
    const Real r = m_.reciprocal(d);
    return last ? e * r : m_.mul(e, r);
  }

  std::size_t lane_of(std::size_t place) const { return place / deal(a_, Format::f32) % a_.lanes; }

  /// Lane sums of e^{x − frame} over columns [begin, end), butterfly, fold over the warps.
  Real lane_sums(std::size_t begin, std::size_t end, Real frame, bool shifted) {
    std::vector<Real> lane(a_.lanes, 0);
    for (std::size_t j = begin; j < end; ++j) {
      if (x_[j] == -INFINITY) continue;
      aim_at(j);
      Real& sum = lane[lane_of(j - begin)];
      const Real e = shifted ? m_.exponential(x_[j], frame) : m_.unshifted(x_[j]);
      sum = sum == 0 ? e : m_.add(sum, e);
    }
    const int width = a_.lanes / a_.warps;
    Real total = 0;
    for (int w = 0; w < a_.warps; ++w) {
      for (int offset = width / 2; offset > 0; offset /= 2) {
        for (int t = 0; t < offset; ++t) {
          Real& sum = lane[w * width + t];
          sum = m_.add(sum, lane[w * width + t + offset]);
        }
      }
      total = m_.add(total, lane[w * width]);
    }
    return total;
  }

  Sum joined(const Sum& a, const Sum& b) {
    const Real m = std::max(a.m, b.m);
    if (m == -INFINITY) return a;
    const auto scaled = [&](const Sum& s) { return s.m == -INFINITY ? 0 : m_.mul(s.d, m_.rescale(s.m, m)); };
    return {m, m_.add(scaled(a), scaled(b))};
  }

  void reduce() {
    m_.aim(-1);
    const Real highest = *std::max_element(x_.begin(), x_.end());
    switch (a_.reduction) {
      case Reduction::strided_online: {
        std::vector<Sum> lane(a_.lanes);
        for (std::size_t j = 0; j < x_.size(); ++j) {
          if (x_[j] == -INFINITY) continue;
          Sum& s = lane[lane_of(j)];
          const Real m = std::max(s.m, x_[j]);
          const Real kept = s.m == -INFINITY ? 0 : m_.mul(s.d, m_.rescale(s.m, m));
          const Real e = m_.exponential(x_[j], m);
          s = {m, kept == 0 ? e : m_.add(kept, e)};
        }
        for (int offset = a_.lanes / 2; offset > 0; offset /= 2) {
          for (int t = 0; t < offset; ++t) lane[t] = joined(lane[t], lane[t + offset]);
        }
        frame_ = lane[0].m;
        sum_ = lane[0].d;
        break;
      }
      case Reduction::chunked_online: {
        Sum s;
        for (const std::int32_t c : plan_.order) {
          const std::size_t begin = plan_.boundary[c];
          const std::size_t end = plan_.boundary[c + 1];
          const Real m = std::max(s.m, *std::max_element(&x_[begin], &x_[begin] + (end - begin)));
          if (m == -INFINITY) continue;
          const Real added = lane_sums(begin, end, m, true);
          const Real kept = s.m == -INFINITY ? 0 : m_.mul(s.d, m_.rescale(s.m, m));
          s = {m, m_.add(kept, added)};
        }
        frame_ = s.m;
        sum_ = s.d;
        break;
      }
      case Reduction::chunked_local: {
        Sum s;
        for (const std::int32_t c : plan_.order) {
          const std::size_t begin = plan_.boundary[c];
          const std::size_t end = plan_.boundary[c + 1];
          const Real m = *std::max_element(&x_[begin], &x_[begin] + (end - begin));
          if (m == -INFINITY) continue;
          const Sum chunk{m, lane_sums(begin, end, m, true)};
          s = s.m == -INFINITY ? chunk : joined(s, chunk);
        }
        frame_ = s.m;
        sum_ = s.d;
        break;
      }
      case Reduction::chunk_states:
        combine();
        return;
      default:
        frame_ = a_.reduction == Reduction::unshifted ? 0 : highest;
        sum_ = lane_sums(0, x_.size(), frame_, a_.reduction != Reduction::unshifted);
    }
    lse_ = frame_ + m_.log(sum_);
  }

  void combine() {
    chunk_of_.assign(x_.size(), -1);
    for (const std::int32_t c : plan_.order) {
      const std::size_t begin = plan_.boundary[c];
      const std::size_t end = plan_.boundary[c + 1];
      const Real m = *std::max_element(&x_[begin], &x_[begin] + (end - begin));
      if (m == -INFINITY) continue;
      for (std::size_t j = begin; j < end; ++j) chunk_of_[j] = static_cast<int>(chunks_.size());
      chunks_.push_back({m, lane_sums(begin, end, m, true)});
    }
    const bool sums = a_.merge_weights == MergeWeights::max_sum;
    const bool shifted = a_.merge_weights != MergeWeights::unshifted;
    std::vector<Real> at;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      m_.aim(static_cast<int>(c) == chunk_of_[target_] ? 1 : -1);
      at.push_back(sums ? chunks_[c].m : m_.add(chunks_[c].m, m_.log(chunks_[c].d)));
    }
    frame_ = shifted ? *std::max_element(at.begin(), at.end()) : 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      m_.aim(static_cast<int>(c) == chunk_of_[target_] ? 1 : -1);
      weight_.push_back(shifted ? m_.exponential(at[c], frame_) : m_.unshifted(at[c]));
      m_.aim(-1);
      const Real term = sums ? m_.mul(weight_[c], chunks_[c].d) : weight_[c];
      sum_ = c == 0 ? term : m_.add(sum_, term);
    }
    lse_ = frame_ + m_.log(sum_);
  }

  const std::vector<Real>& x_;
  const ChunkPlan& plan_;
  Machine m_;
  Arithmetic a_;
  std::size_t target_;
  Real frame_ = 0, sum_ = 0, lse_ = 0;
  std::vector<Sum> chunks_;
  std::vector<int> chunk_of_;
  std::vector<Real> weight_;
};

}  // namespace

SoftmaxProblem draw_softmax(Random& random, double highest) {
  const std::int64_t n = random.integer(1, random.chance(0.7) ? 12 : 60);
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, n});
  const double offset = random.chance(0.4) ? 0 : random.uniform(-highest, highest);
  const double spread = std::min(highest, std::ldexp(1, static_cast<int>(random.integer(-10, 5))));
  const double gap = std::min(highest, random.uniform(80, 110));
  const std::int64_t shape = random.integer(0, 4);
  for (std::int64_t j = 0; j < n; ++j) {
    const double t = static_cast<double>(j) / static_cast<double>(n);
    const double peak = j + 1 == n ? 0 : -spread - 3 + 1e-3 * static_cast<double>(j);  // a slow ramp, a late maximum
    const double x = shape == 0   ? spread * random.uniform(-1, 1)
                     : shape == 1 ? spread * t
                     : shape == 2 ? std::max(peak, -highest)
                     : shape == 3 ? -spread * t
                                  : (random.chance(0.5) ? -gap : 0);
    p.x.set({0, j}, j > 0 && random.chance(0.05) ? -INFINITY : static_cast<float>(offset + x));
  }
  p.plan = ChunkPlan::uniform(n, random.chance(0.3) ? 1 : random.integer(1, n));
  for (std::size_t c = p.plan.order.size(); c-- > 1;) {
    std::swap(p.plan.order[c], p.plan.order[random.integer(0, static_cast<std::int64_t>(c))]);
  }
  return p;
}

void attack_softmax(const SoftmaxProblem& problem, const Machine& machine, const Arithmetic& declared,
                    AttackWorst& worst) {
  const Bound bound = compute_bound(problem, declared);
  if (!bound.domain[0].form.holds()) ++worst.broken_forms;
  if (!bound.domain[0].holds() || !bound.domain[0].form.holds()) return;
  std::vector<Real> x;
  std::size_t keys = 0;
  Real sum = 0;
  const std::int64_t columns = problem.x.shape[1];
  for (std::int64_t j = 0; j < columns; ++j) {
    x.push_back(problem.x.at({0, j}));
    keys += x.back() == -INFINITY ? 0 : 1;
  }
  const Real highest = *std::max_element(x.begin(), x.end());
  for (const Real score : x) sum += std::exp(score - highest);
  const Real lse = highest + std::log(sum);
  const Real noise = 1e-18L * (1 + std::fabs(lse));  // of long double: 2^-64 of a few operations
  for (std::size_t j = 0; j < x.size(); j += 1 + x.size() / 6) {
    if (x[j] == -INFINITY) continue;
    Run run(x, problem, machine, j);
    const Real exact = std::exp(x[j] - highest) / sum;
    const Real error = std::fabs(run.y() - exact);
    worst.o.take(error, bound.o[j].total(), noise * exact);
    const Real lse_error = std::fabs(run.lse() - lse);
    worst.lse.take(lse_error, bound.lse[0].total(), noise);
    worst.likely.take(error, bound.o[j].probable, noise * exact);
    worst.likely.take(lse_error, bound.lse[0].probable, noise);
    worst.elements += 2;
    if (keys >= 8 && exact > 0x1p-100L && bound.o[j].total() < bound.range[j] / 2) {
      worst.reached.take(error, bound.o[j].total(), noise * exact);
    }
  }
}

}  // namespace flashproof::bound
