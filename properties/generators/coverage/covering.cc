#include "properties/generators/coverage/covering.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "reference/problem/random.h"

namespace flashproof {
namespace {

constexpr int kCandidates = 6;  // of a row; the one with the most new pairs is taken

/// Which pairs still have to come.
class Needed {
 public:
  explicit Needed(const std::vector<int>& counts) {
    for (const int count : counts) first_.push_back(levels_ += count);
    std::rotate(first_.begin(), first_.end() - 1, first_.end());
    first_.front() = 0;
    needed_.assign(static_cast<std::size_t>(levels_) * static_cast<std::size_t>(levels_), 0);
  }

  std::uint8_t& at(std::size_t i, int a, std::size_t j, int b) {
    const int x = first_[i] + a, y = first_[j] + b;
    return needed_[static_cast<std::size_t>(std::min(x, y)) * static_cast<std::size_t>(levels_) +
                   static_cast<std::size_t>(std::max(x, y))];
  }
  /// How many of them the level adds to what the row has.
  int gain(const Levels& row, std::size_t dimension, int level) {
    int sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (j != dimension && row[j] != kFree) sum += at(dimension, level, j, row[j]);
    }
    return sum;
  }
  void remove(const Levels& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (row[i] != kFree && row[j] != kFree) at(i, row[i], j, row[j]) = 0;
      }
    }
  }

 private:
  std::vector<int> first_;  // number of the first level of each dimension
  int levels_ = 0;
  std::vector<std::uint8_t> needed_;
};

class Cover {
 public:
  Cover(const std::vector<int>& counts, const Possible& possible, std::vector<Levels> rows)
      : counts_(counts), possible_(possible), rows_(std::move(rows)), needed_(counts) {
    each_pair([&](const Levels& pair, std::size_t i, std::size_t j) {
      needed_.at(i, pair[i], j, pair[j]) = possible_(pair) ? 1 : 0;
    });
    for (const Levels& row : rows_) needed_.remove(row);
  }

  std::vector<Levels> rows() {
    each_pair([&](const Levels& pair, std::size_t i, std::size_t j) {
      if (needed_.at(i, pair[i], j, pair[j]) == 0) return;
      Levels best;
      int most = -1;
      for (int n = 0; n < kCandidates; ++n) {
        const auto [row, gain] = completed(pair);
        if (gain > most) best = row, most = gain;
      }
      needed_.remove(best);
      rows_.push_back(std::move(best));
    });
    return std::move(rows_);
  }

 private:
  template <class Visit>
  void each_pair(Visit visit) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        for (int a = 0; a < counts_[i]; ++a) {
          for (int b = 0; b < counts_[j]; ++b) {
            Levels pair(counts_.size(), kFree);
            pair[i] = a, pair[j] = b;
            visit(pair, i, j);
          }
        }
      }
    }
  }

  /// The dimensions in a random order, each with the level that adds most.
  std::pair<Levels, int> completed(Levels row) {
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    int gain = 0;
    for (const std::size_t i : order) {
      if (row[i] != kFree) continue;
      std::vector<std::pair<int, int>> levels;  // what it adds, and a number that the random one moves
      const auto shift = static_cast<int>(random_.integer(0, counts_[i] - 1));
      for (int n = 0; n < counts_[i]; ++n) {
        const int level = (n + shift) % counts_[i];
        levels.emplace_back(needed_.gain(row, i, level), level);
      }
      std::ranges::stable_sort(levels, [](const auto& x, const auto& y) { return x.first > y.first; });
      for (const auto& [adds, level] : levels) {
        row[i] = level;
        if (possible_(row)) {
          gain += adds;
          break;
        }
        row[i] = kFree;
      }
    }
    return {std::move(row), gain};
  }

  const std::vector<int>& counts_;
  const Possible& possible_;
  std::vector<Levels> rows_;
  Needed needed_;
  Random random_{1, 0xc0fe};
};

}  // namespace

std::vector<Levels> cover_pairs(const std::vector<int>& counts, const Possible& possible, std::vector<Levels> rows) {
  return Cover(counts, possible, std::move(rows)).rows();
}

}  // namespace flashproof
