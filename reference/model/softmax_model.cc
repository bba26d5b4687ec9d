// Softmax of a row: six ways to its sum of weights, then y_j = e^{x_j − m} ended with it.
#include <algorithm>
#include <cmath>

#include "reference/bound/declare/declaration.h"
#include "reference/model/exponentials.h"
#include "reference/model/problem_models.h"
#include "reference/model/products.h"
#include "reference/model/state.h"

namespace flashproof::model {

namespace {

struct Sum {
  float m = kMinusInf;
  float d = 0;
};

class SoftmaxRow {
 public:
  SoftmaxRow(const SoftmaxProblem& problem, const Arithmetic& arithmetic, Machine& machine, std::vector<float> x)
      : arithmetic_(arithmetic),
        machine_(machine),
        plan_(visited_plan(problem.plan, arithmetic)),
        x_(std::move(x)),
        endings_(machine, arithmetic, 1.0F),
        exponentials_(machine, arithmetic.exponent, 1.0F) {
    const std::int64_t columns = problem.x.shape[1];
    lanes_ = static_cast<std::size_t>(arithmetic.lanes > 0 ? arithmetic.lanes : arithmetic.lanes_of(columns));
    deal_ = deal(arithmetic, problem.x.format);
  }

  /// y and lse of a row that has a visible column.
  Normalised result() {
    if (arithmetic_.reduction == Reduction::chunk_states) return chunk_states();
    Sum sum;
    switch (arithmetic_.reduction) {
      case Reduction::strided_online:
        sum = strided_online();
        break;
      case Reduction::chunked_online:
        sum = chunked_online();
        break;
      case Reduction::chunked_local:
        sum = chunked_local();
        break;
      default:
        sum = two_pass(0, size());
    }
    Normalised result{.o = std::vector<float>(x_.size(), 0.0F)};
    result.lse = unshifted() ? machine_.log(sum.d, 0) : endings_.lse(sum.m, sum.d);
    if (arithmetic_.ending == Ending::division_free) {
      for (std::int64_t j = 0; j < size(); ++j) result.o[static_cast<std::size_t>(j)] = key(j, result.lse, false, kUp);
      return result;
    }
    end(0, size(), sum, result.o);
    return result;
  }

  std::int64_t size() const { return static_cast<std::int64_t>(x_.size()); }

 private:
  static constexpr double kUp = 1;
  static constexpr double kDown = -1;  // a larger sum makes every y smaller

  bool unshifted() const { return arithmetic_.reduction == Reduction::unshifted; }
  /// E(x_j − m), or e^{x_j}.
  float key(std::int64_t j, float m, bool unshifted, double direction) {
    const float x = x_[static_cast<std::size_t>(j)];
    if (x == kMinusInf) return 0.0F;
    return unshifted ? exponentials_.unshifted(x, direction) : exponentials_.weight(x, m, direction);
  }
  float weight(std::int64_t j, float m, double direction) { return key(j, m, unshifted(), direction); }

  /// y_j = e^{x_j − m} ended with the sum.
  void end(std::int64_t begin, std::int64_t stop, const Sum& sum, std::vector<float>& y) {
    const float prepared = endings_.factor(sum.m, sum.d, 0);
    for (std::int64_t j = begin; j < stop; ++j) {
      y[static_cast<std::size_t>(j)] = endings_.quotient(weight(j, sum.m, kUp), sum.d, prepared);
    }
  }

  Sum two_pass(std::int64_t begin, std::int64_t end) {
    const float m = largest(begin, end);
    return {m, block_sum(begin, end, m)};
  }

  float largest(std::int64_t begin, std::int64_t end) const {
    float m = kMinusInf;
    for (std::int64_t j = begin; j < end; ++j) m = Machine::max(m, x_[static_cast<std::size_t>(j)]);
    return m;
  }

  /// The lane of a column, dealt from `begin` on.
  std::size_t lane_of(std::int64_t j, std::int64_t begin) const {
    return static_cast<std::size_t>((j - begin) / deal_) % lanes_;
  }

  /// Every lane from left to right; a butterfly in each warp, the warps from left to right.
  float block_sum(std::int64_t begin, std::int64_t end, float m) {
    std::vector<float> lanes(lanes_, 0.0F);
    for (std::int64_t j = begin; j < end; ++j) {
      float& lane = lanes[lane_of(j, begin)];
      lane = machine_.add(lane, weight(j, m, kDown));
    }
    const std::size_t in_warp = lanes_ / static_cast<std::size_t>(arithmetic_.warps);
    float sum = 0.0F;
    for (std::size_t first = 0; first < lanes_; first += in_warp) {
      std::vector<float> warp(&lanes[first], &lanes[first] + in_warp);
      const float of_warp = butterfly(machine_, warp);
      sum = first == 0 ? of_warp : machine_.add(sum, of_warp);
    }
    return sum;
  }

  Sum joined(const Sum& a, const Sum& b) {
    const float m = Machine::max(a.m, b.m);
    if (m == kMinusInf) return a;
    const float kept = machine_.mul(a.d, exponentials_.ratio(a.m, m, kDown));
    return {m, machine_.add(kept, machine_.mul(b.d, exponentials_.ratio(b.m, m, kDown)))};
  }

  Sum strided_online() {
    std::vector<Sum> lanes(lanes_);
    for (std::int64_t j = 0; j < size(); ++j) {
      Sum& lane = lanes[lane_of(j, 0)];
      const float m = Machine::max(lane.m, x_[static_cast<std::size_t>(j)]);
      if (m == kMinusInf) continue;
      const float kept = machine_.mul(lane.d, exponentials_.ratio(lane.m, m, kDown));
      lane = {m, machine_.add(kept, weight(j, m, kDown))};
    }
    for (std::size_t offset = lanes_ / 2; offset > 0; offset /= 2) {
      for (std::size_t t = 0; t < offset; ++t) lanes[t] = joined(lanes[t], lanes[t + offset]);
    }
    return lanes[0];
  }

  template <class Visitor>
  void visit_chunks(Visitor&& visit) {
    for (const std::int32_t chunk : plan_.order) {
      const std::int64_t begin = plan_.boundary[static_cast<std::size_t>(chunk)];
      const std::int64_t end = std::min<std::int64_t>(plan_.boundary[static_cast<std::size_t>(chunk) + 1], size());
      const float m = begin < end ? largest(begin, end) : kMinusInf;
      if (m != kMinusInf) visit(begin, end, m);
    }
  }

  Sum chunked_online() {
    Sum sum;
    visit_chunks([&](std::int64_t begin, std::int64_t end, float m_chunk) {
      const float m = Machine::max(sum.m, m_chunk);
      const float added = block_sum(begin, end, m);
      sum = {m, machine_.add(machine_.mul(sum.d, exponentials_.ratio(sum.m, m, kDown)), added)};
    });
    return sum;
  }

  Sum chunked_local() {
    Sum sum;
    visit_chunks(
        [&](std::int64_t begin, std::int64_t end, float m) { sum = joined(sum, {m, block_sum(begin, end, m)}); });
    return sum;
  }

  struct Chunk {
    std::int64_t begin, end;
    Sum sum;
    float weight = 0;
  };

  /// Every chunk on its own, then one flat combination; every y is multiplied by the weight of its chunk.
  Normalised chunk_states() {
    const bool sums = arithmetic_.merge_weights == MergeWeights::max_sum;
    const bool plain = arithmetic_.merge_weights == MergeWeights::unshifted;
    Normalised result{.o = std::vector<float>(x_.size(), 0.0F)};
    std::vector<Chunk> chunks;
    float largest = kMinusInf;  // of the chunks' maxima, or of their lse
    visit_chunks([&](std::int64_t begin, std::int64_t stop, float m) {
      Chunk chunk{begin, stop, {m, block_sum(begin, stop, m)}};
      end(begin, stop, chunk.sum, result.o);
      if (!sums) chunk.sum.m = endings_.lse(chunk.sum.m, chunk.sum.d);
      largest = Machine::max(largest, chunk.sum.m);
      chunks.push_back(chunk);
    });
    float total = 0.0F;
    for (Chunk& chunk : chunks) {
      chunk.weight =
          plain ? exponentials_.unshifted(chunk.sum.m, kUp) : exponentials_.weight(chunk.sum.m, largest, kUp);
      total = machine_.add(total, sums ? machine_.mul(chunk.sum.d, chunk.weight) : chunk.weight);
    }
    result.lse = plain ? machine_.log(total, 0) : endings_.lse(largest, total);
    const float prepared = endings_.factor(largest, total, 0);
    for (const Chunk& chunk : chunks) {
      for (std::int64_t j = chunk.begin; j < chunk.end; ++j) {
        float& y = result.o[static_cast<std::size_t>(j)];
        const float whole = sums ? machine_.mul(y, chunk.sum.d) : y;
        y = endings_.quotient(machine_.mul(whole, chunk.weight), total, prepared);
      }
    }
    return result;
  }

  const Arithmetic& arithmetic_;
  Machine& machine_;
  ChunkPlan plan_;
  std::vector<float> x_;
  Endings endings_;
  Exponentials exponentials_;
  std::size_t lanes_;
  std::int64_t deal_;
};

}  // namespace

void run(const SoftmaxProblem& p, const Arithmetic& arithmetic, const Roundings& roundings, Output& output) {
  const std::int64_t columns = p.x.shape[1];
  for (std::int64_t row = 0; row < p.x.shape[0]; ++row) {
    Machine machine(arithmetic, roundings, static_cast<std::uint64_t>(row));
    const std::int64_t length = p.row_length.empty() ? columns : p.row_length[static_cast<std::size_t>(row)];
    std::vector<float> x;
    bool poisoned = false;
    for (std::int64_t j = 0; j < length; ++j) {
      x.push_back(static_cast<float>(p.x.at({row, j})));
      poisoned = poisoned || !(x.back() < HUGE_VALF);
    }
    std::vector<float> y(static_cast<std::size_t>(columns), 0.0F);
    if (poisoned) {
      std::fill_n(y.begin(), length, kNan);
      store(output, row, y, kNan);
      continue;
    }
    if (std::ranges::all_of(x, [](float v) { return v == kMinusInf; })) {
      store(output, row, y, kMinusInf);
      continue;
    }
    const Normalised result = SoftmaxRow(p, arithmetic, machine, std::move(x)).result();
    std::ranges::copy(result.o, y.begin());
    store(output, row, y, result.lse);
  }
}

}  // namespace flashproof::model
