// How many operations a key meets on its way, for every reduction of attention: each operation that arithmetic.h lists is
// done here in double and errs by all that it may, the numerator's upwards, the denominator's downwards. All v are 1, so that what
// both sums share cancels, and the bound is what remains: it must hold, and be reached nearly. A count that is
// halved, or an operation forgotten, is a violation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/test/one_row.h"

namespace flashproof::bound {
namespace {

constexpr double kLowest = -1e300;

double up(double x) { return x * (1 + kU); }  // a sum
double down(double x) { return x * (1 - kU); }

struct Worst {
  double o, lse;
};

class Executor {
 public:
  /// Products with v err by `lost` besides, as they do where their results are subnormal.
  Executor(const Arithmetic& a, const std::vector<float>& s, int chunk, double v = 1, double lost = 0)
      : a_(a), s_(s), chunk_(chunk), v_(v), lost_(lost) {}

  Worst run() {
    switch (a_.reduction) {
      case Reduction::chunk_deferred:
        return deferred();
      case Reduction::row_resident:
        return resident();
      case Reduction::lse_running:
        return lse_running();
      case Reduction::chunk_recap:
        return recap();
      default:
        return a_.separated_exponent ? separated() : normalized();
    }
  }

 private:
  struct Chunk {
    std::vector<double> p;  // e^{s − frame}
    double max;
  };
  std::vector<Chunk> chunks() const {
    std::vector<Chunk> result;
    const auto size = static_cast<std::size_t>(a_.per_key ? 1 : chunk_);
    for (std::size_t at = 0; at < s_.size(); at += size) {
      const std::size_t end = std::min(at + size, s_.size());
      Chunk made{{},
                 *std::max_element(s_.begin() + static_cast<std::ptrdiff_t>(at),
                                   s_.begin() + static_cast<std::ptrdiff_t>(end))};
      for (std::size_t j = at; j < end; ++j) made.p.push_back(s_[j]);
      result.push_back(made);
    }
    return result;
  }
  double made(double product) const { return up(product) + lost_; }
  static std::vector<double> weights(const Chunk& chunk, double frame) {
    std::vector<double> p;
    p.reserve(chunk.p.size());
    for (const double s : chunk.p) p.push_back(std::exp(s - frame));
    return p;
  }
  /// factor · x, exact where the factor is 1.
  double numerator(double factor, double x) const { return factor == 1 ? x : made(factor * x); }
  static double denominator(double factor, double x) { return factor == 1 ? x : down(factor * x); }

  void add_to_lanes(const std::vector<double>& p, std::vector<double>& lanes) const {
    for (std::size_t j = 0; j < p.size(); ++j) {
      double& lane = lanes[static_cast<std::size_t>(lane_at(a_, static_cast<std::int64_t>(j), a_.lanes))];
      lane = down(lane + p[j]);
    }
  }
  static double butterfly(std::vector<double> lanes) {
    for (std::size_t n = lanes.size() / 2; n > 0; n /= 2) {
      for (std::size_t i = 0; i < n; ++i) lanes[i] = down(lanes[i] + lanes[i + n]);
    }
    return lanes[0];
  }
  double sum(const std::vector<double>& p) const {
    std::vector<double> lanes(static_cast<std::size_t>(a_.lanes), 0.0);
    add_to_lanes(p, lanes);
    return butterfly(lanes);
  }
  double values(const std::vector<double>& p, double start) const {
    std::vector<double> chains(static_cast<std::size_t>(a_.values.chains), 0.0);
    chains[0] = start;
    for (std::size_t j = 0; j < p.size(); ++j) chains[j % chains.size()] = made(chains[j % chains.size()] + p[j] * v_);
    for (; chains.size() > 1; chains.resize(chains.size() / 2)) {
      for (std::size_t i = 0; i < chains.size() / 2; ++i) chains[i] = up(chains[2 * i] + chains[2 * i + 1]);
    }
    return chains[0];
  }
  double ended(double n, double l) const { return a_.ending == Ending::divide ? made(n / l) : made(n * up(1 / l)); }

  Worst deferred() {
    double frame = kLowest, acc = 0;
    std::vector<double> lanes(static_cast<std::size_t>(a_.lanes), 0.0);
    for (const Chunk& chunk : chunks()) {
      const double risen = std::max(frame, chunk.max), alpha = std::exp(frame - risen);
      const bool first = frame == kLowest;
      frame = risen;
      for (double& lane : lanes) lane = denominator(alpha, lane);
      acc = numerator(alpha, acc);
      const std::vector<double> p = weights(chunk, frame);
      if (a_.running_lanes) {
        add_to_lanes(p, lanes);
      } else {
        std::vector<double> added(lanes.size(), 0.0);
        add_to_lanes(p, added);
        for (std::size_t t = 0; t < lanes.size(); ++t) lanes[t] = first ? added[t] : down(lanes[t] + added[t]);
      }
      acc = values(p, acc);
    }
    const double l = butterfly(lanes);
    return {ended(acc, l), frame + std::log(l)};
  }

  Worst resident() {
    const double frame = *std::max_element(s_.begin(), s_.end());
    std::vector<double> p = weights({{s_.begin(), s_.end()}, frame}, frame);
    const double l = sum(p);
    for (double& x : p) x = a_.ending == Ending::divide ? up(x / l) : up(x * up(1 / l));
    return {values(p, 0), frame + std::log(l)};
  }

  Worst normalized() {
    double m = kLowest, l = 0, o = 0;
    for (const Chunk& chunk : chunks()) {
      const double joined = std::max(m, chunk.max), beta = std::exp(chunk.max - joined);
      const std::vector<double> p = weights(chunk, chunk.max);
      const double kept = denominator(std::exp(m - joined), l);  // shared
      const double added = denominator(beta, sum(p)), pv = numerator(beta, values(p, 0));
      l = m == kLowest ? added : down(kept + added);
      o = ended(m == kLowest ? pv : up(made(kept * o) + pv), l);
      m = joined;
    }
    return {o, m + std::log(l)};
  }

  Worst recap() {
    double c = kLowest, l = 0, o = 0;
    for (const Chunk& chunk : chunks()) {
      const std::vector<double> p = weights(chunk, chunk.max);
      const double own_l = sum(p), own_o = ended(values(p, 0), own_l);
      const double joined = std::max(c, chunk.max);
      const double a = denominator(std::exp(chunk.max - joined), own_l);  // shared, as b is
      const double b = denominator(std::exp(c - joined), l);
      l = c == kLowest ? a : down(a + b);
      o = ended(c == kLowest ? made(a * own_o) : up(made(a * own_o) + made(b * o)), l);
      c = joined;
    }
    return {o, c + std::log(l)};
  }

  Worst separated() {
    const double last = *std::max_element(s_.begin(), s_.end());
    double m = kLowest, l = 0, o = 0;
    const auto of_frame = [&](double frame) {
      return std::exp(-frame) * (1 + (frame == last ? 1 : -1) * a_.exp_error);
    };
    for (const Chunk& chunk : chunks()) {
      const double joined = std::max(m, chunk.max), beta = a_.per_key ? 1 : std::exp(chunk.max - joined);
      std::vector<double> p = weights(chunk, a_.per_key ? joined : chunk.max);
      const double alpha = m == joined ? 1 : std::exp(m - joined) * (1 - a_.exp_error);
      const double added = denominator(beta, sum(p)), kept = denominator(alpha, l);
      const double l_new = m == kLowest ? added : down(kept + added);
      for (double& x : p) x = up(x / l_new);
      const double pv = numerator(beta, values(p, 0));
      const double g = m == kLowest ? 0 : up(up(of_frame(joined) * l) / down(l_new * of_frame(m)));
      o = m == kLowest ? pv : up(made(g * o) + pv);
      l = l_new;
      m = joined;
    }
    return {o, m + std::log(l)};
  }

  Worst lse_running() {
    double c = kLowest, lse = kLowest, acc = 0;
    for (const Chunk& chunk : chunks()) {
      const double risen = std::max(chunk.max, lse);
      const double carried = lse == risen ? 1 : std::exp((lse - risen) * (1 + kU)) * (1 - a_.exp_error);
      if (c != kLowest) acc = made(acc * std::exp((c - risen) * (1 - kU)) * (1 + a_.exp_error));
      const std::vector<double> p = weights(chunk, risen);
      acc = values(p, acc);
      const double l = lse == kLowest ? sum(p) : down(carried + sum(p));
      c = risen;
      lse = c + std::log(l) - a_.log_error * std::fabs(std::log(l));
      lse -= kU * std::fabs(lse);
    }
    return {made(acc * std::exp((c - lse) * (1 - kU)) * (1 + a_.exp_error)), lse};
  }

  const Arithmetic& a_;
  const std::vector<float>& s_;
  int chunk_;
  double v_, lost_;
};

struct Case {
  std::string name;
  Arithmetic arithmetic;
  double reached;  // the least part of the bound that the worst roundings must reach
  double
      lost;  // the same of what underflows: a normalised chunk's sum of weights divides it, which the bound leaves out
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const std::string& name, Reduction reduction, double reached, auto&& change) {
    Arithmetic a = declared(reduction);
    a.lanes = 2;
    if (reduction == Reduction::lse_running) a.ending = Ending::division_free;
    change(a);
    const bool normalised =
        a.per_key ||
        (!a.separated_exponent && (reduction == Reduction::chunk_normalized || reduction == Reduction::chunk_recap));
    list.push_back({name, a, reached, normalised ? 0.2 : 0.75});
  };
  const auto plain = [](Arithmetic&) {};
  const auto chains = [](Arithmetic& a) { a.values.chains = 4; };
  const auto dealt = [](Arithmetic& a) { a.deal = 4; };
  const auto divided = [](Arithmetic& a) { a.ending = Ending::divide; };
  for (const auto& [name, reduction] :
       {std::pair{"deferred", Reduction::chunk_deferred}, std::pair{"normalized", Reduction::chunk_normalized},
        std::pair{"resident", Reduction::row_resident}, std::pair{"recap", Reduction::chunk_recap},
        std::pair{"lse_running", Reduction::lse_running}}) {
    const double reached = reduction == Reduction::row_resident  ? 0.96
                           : reduction == Reduction::lse_running ? 0.95
                                                                 : 0.99;
    add(name, reduction, reached, plain);
    add(std::string(name) + ", four chains", reduction, reached, chains);
    add(std::string(name) + ", lanes of four neighbours", reduction, reached, dealt);
    if (reduction != Reduction::lse_running) add(std::string(name) + ", divided", reduction, reached, divided);
  }
  add("deferred, running lanes", Reduction::chunk_deferred, 0.99, [](Arithmetic& a) { a.running_lanes = true; });
  add("deferred, reciprocal", Reduction::chunk_deferred, 0.99,
      [](Arithmetic& a) { a.ending = Ending::multiply_reciprocal; });
  const auto separated = [](Arithmetic& a) {
    a.separated_exponent = true;
    a.ending = Ending::divide;
  };
  add("separated", Reduction::chunk_normalized, 0.99, separated);
  add("separated, four chains", Reduction::chunk_normalized, 0.99, [&](Arithmetic& a) {
    separated(a);
    a.values.chains = 4;
  });
  add("per key", Reduction::chunk_normalized, 0.99, [&](Arithmetic& a) {
    separated(a);
    a.per_key = true;
    a.lanes = 1;
  });
  return list;
}

/// Rising, falling and mixed maxima; the steps are above what scores may err by.
std::vector<std::vector<float>> stories(int keys) {
  std::vector<std::vector<float>> list(4);
  for (int j = 0; j < keys; ++j) {
    list[0].push_back(0.25F * static_cast<float>(j));
    list[1].push_back(-0.25F * static_cast<float>(j));
    list[2].push_back(0.125F * static_cast<float>(j % 7) - 0.5F * static_cast<float>(j % 3 == 0));
    list[3].push_back(j == keys / 2 ? 1.0F : 0.03125F * static_cast<float>(j % 5));
  }
  return list;
}

TEST(AttentionCounts, every_operation_of_every_form_is_counted_once) {
  for (const Case& c : cases()) {
    for (const int chunk : {1, 4, 16}) {
      double best = 0, best_lse = 0;
      for (const std::vector<float>& s : stories(32)) {
        const Worst worst = Executor(c.arithmetic, s, chunk).run();
        const Bound bound = compute_bound(one_row(s, std::vector<float>(s.size(), 1.0F), chunk), c.arithmetic);
        double sum = 0;
        for (const float x : s) sum += std::exp(static_cast<double>(x));
        const double error = std::fabs(worst.o - 1), limit = bound.o[0].total() + kU;  // the last rounding is into f32
        EXPECT_LE(error, limit) << c.name << ", chunks of " << chunk;
        const double exact = std::log(sum);
        const double lse_error = std::fabs(worst.lse - exact), lse_limit = bound.lse[0].total() + kU * std::fabs(exact);
        EXPECT_LE(lse_error, lse_limit) << c.name << ", chunks of " << chunk;
        best = std::max(best, error / limit);
        best_lse = std::max(best_lse, lse_error / lse_limit);
      }
      EXPECT_GT(best, c.reached) << c.name << ", chunks of " << chunk << ": the bound is loose";
      EXPECT_GT(best_lse, 0.45) << c.name << ", chunks of " << chunk;
    }
  }
}

// Exponentials and logarithms exact and scores near 0: lse has the roundings of the sum, those that it shares with o too.
TEST(AttentionCounts, every_rounding_of_the_sum_shows_in_lse) {
  for (Case c : cases()) {
    c.arithmetic.exp_error = c.arithmetic.log_error = 0;
    for (const int chunk : {1, 4, 16}) {
      double best = 0;
      for (std::vector<float> s : stories(32)) {
        for (float& x : s) x /= 64;
        const Worst worst = Executor(c.arithmetic, s, chunk).run();
        const Bound bound = compute_bound(one_row(s, std::vector<float>(s.size(), 1.0F), chunk), c.arithmetic);
        double sum = 0;
        for (const float x : s) sum += std::exp(static_cast<double>(x));
        const double exact = std::log(sum), limit = bound.lse[0].total() + kU * std::fabs(exact);
        // Its own last rounding, where it is not done yet.
        const bool rounded = c.arithmetic.reduction == Reduction::lse_running;
        const double error = std::fabs(worst.lse - exact) + (rounded ? 0 : kU * std::fabs(exact));
        EXPECT_LE(error, limit) << c.name << ", chunks of " << chunk;
        best = std::max(best, error / limit);
      }
      EXPECT_GT(best, c.arithmetic.reduction == Reduction::lse_running ? 0.88 : 0.98)
          << c.name << ", chunks of " << chunk;
    }
  }
}

// v = 2^-140: relative roundings are nothing beside half of 2^-149, which every product may lose.
TEST(AttentionCounts, every_product_may_lose_half_the_smallest_number) {
  constexpr float kTiny = 0x1p-140F;
  for (const Case& c : cases()) {
    for (const int chunk : {32, 4}) {
      double best = 0;
      for (const std::vector<float>& s : stories(32)) {
        const Worst worst = Executor(c.arithmetic, s, chunk, kTiny, 0x1p-150).run();
        const Bound bound = compute_bound(one_row(s, std::vector<float>(s.size(), kTiny), chunk), c.arithmetic);
        const double error = std::fabs(worst.o - kTiny), limit = bound.o[0].total() + 0x1p-150;
        EXPECT_LE(error, limit) << c.name << ", chunks of " << chunk;
        best = std::max(best, error / limit);
      }
      EXPECT_GT(best, chunk == 32 ? c.lost : 0.15) << c.name << ", chunks of " << chunk;
    }
  }
}

}  // namespace
}  // namespace flashproof::bound
