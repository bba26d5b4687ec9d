// What a diagnosis looks at, and its rows on their way to the learner of conditions.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/diagnose/conditions.h"
#include "reports/diagnose/hypotheses/fit.h"
#include "reports/diagnose/observation.h"
#include "reports/diagnose/traits.h"

namespace flashproof {

/// How a call that fails comes out when it is made again, with the same arguments.
enum class Again : std::uint8_t {
  same,         // it fails again
  numbers,      // with other numbers, which the declaration does not allow
  right,        // some of the calls fail and some are right
  right_alone,  // it fails again, but not as the first call of a new process
};

struct Looked {
  std::deque<Observation> failing, passing;
  std::size_t unshown = 0;  // so many of `passing`, the first ones, were given as failing: their numbers do not show it
  std::vector<Again> again = {};                      // of each of `failing`; empty: not asked
  std::vector<const Observation*> unshown_fail = {};  // those of the unshown that fail when they are called again

  bool fails_alike(std::size_t i) const { return again.empty() || again[i] == Again::same; }
};

/// Sends rows of observations to the learner.
class Units {
 public:
  explicit Units(const Kernel& kernel) : kernel_(kernel) {}

  void add(const Observation& seen, const RowOfPart& at, bool failing, double column) {
    Unit unit{number(seen), failing, row(seen, at)};
    unit.values.push_back(column);
    units_.push_back(std::move(unit));
  }
  std::size_t size() const { return units_.size(); }
  std::optional<Condition> condition(const std::string& noun) const {
    return separating(traits(kernel_.problem), units_, noun);
  }

 private:
  struct Reader {
    std::uint32_t number;
    TraitReader traits;
    std::map<std::pair<Part, std::int64_t>, std::vector<double>> rows = {};
  };
  Reader& reader(const Observation& seen) {
    const auto found = readers_.find(&seen);
    if (found != readers_.end()) return found->second;
    const auto n = static_cast<std::uint32_t>(readers_.size());
    return readers_.emplace(&seen, Reader{n, TraitReader(kernel_, seen.subject().problem)}).first->second;
  }
  std::uint32_t number(const Observation& seen) { return reader(seen).number; }
  const std::vector<double>& row(const Observation& seen, const RowOfPart& at) {
    Reader& r = reader(seen);
    const auto [found, made] = r.rows.try_emplace({at.part, at.row});
    if (made) found->second = r.traits.row(at.part, at.row);
    return found->second;
  }

  const Kernel& kernel_;
  std::map<const Observation*, Reader> readers_;
  std::vector<Unit> units_;
};

inline constexpr double kNoColumn = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t kMostRows = 160;  // of one case, for a condition

/// Every n-th of so many, at most kMostRows of them.
inline std::int64_t stride_of(std::int64_t rows) {
  return std::max<std::int64_t>(1, (rows + kMostRows - 1) / kMostRows);
}
}  // namespace flashproof
