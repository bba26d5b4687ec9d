// Keys taken away one per row, and what that must do to lse and o: what dropped_key_is_noticed compares with.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "properties/laws/support/parts.h"
#include "properties/laws/trial.h"

namespace flashproof {

inline constexpr std::int64_t kNoKey = -1;

/// What a row lost.
struct LostKey {
  std::int64_t key = kNoKey;
  Measured score{std::numeric_limits<double>::quiet_NaN(), 0};  // NaN: not known
};

/// Places of [0, n), sorted: the first, the last, and some of the edges of chunks and tiles and others between.
std::vector<std::int64_t> telling_places(std::int64_t n, const ChunkPlan* plan, Random& random);

/// Another one for every row, among those that `usable` admits.
template <class Usable>
std::int64_t choose_place(const std::vector<std::int64_t>& places, std::int64_t row, Usable usable) {
  const std::size_t n = places.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t j = places[(static_cast<std::size_t>(row) + i) % n];
    if (usable(j)) return j;
  }
  return kNoKey;
}

/// Two runs, with the keys and without.
class LostKeys {
 public:
  /// Of the lost key of a row, in one column.
  using Value = std::function<double(std::int64_t row, std::int64_t column)>;

  explicit LostKeys(Trial& trial) : trial_(trial) {}

  /// `lost` has one entry per row. A `before` that comes again is not run again.
  void compare(const Problem& before, const Problem& after, const std::vector<LostKey>& lost, const Value& value);
  Verdict verdict() const { return tally_.verdict("no row of ordinary numbers"); }

 private:
  void compare_row(const Reading& with, const Reading& without, std::int64_t row, const LostKey& lost,
                   const Value& value);

  Trial& trial_;
  Problem before_;
  std::optional<Output> output_;  // of before_
  Bound bound_;
  Comparison tally_;
};

}  // namespace flashproof
