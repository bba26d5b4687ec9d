// The seeds of the cases that a record has seen: which cases two reports have in common is a question before they merge.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace flashproof {

class SeedSet {
 public:
  using Interval = std::pair<std::uint64_t, std::uint64_t>;  // first and last

  void add(std::uint64_t seed) { add({seed, seed}); }
  /// first <= last. The union: what is there already is no error here.
  void add(Interval interval);
  void merge(const SeedSet& other);
  /// The lowest run of seeds that both have.
  std::optional<Interval> common(const SeedSet& other) const;
  SeedSet intersection(const SeedSet& other) const;
  /// Those that `other` does not have.
  SeedSet without(const SeedSet& other) const;
  /// Disjoint, ascending, never adjacent: one spelling per set.
  const std::vector<Interval>& intervals() const { return intervals_; }
  /// Seeds; 0 for all 2^64 of them, which no run has.
  std::uint64_t size() const;
  bool empty() const { return intervals_.empty(); }
  bool operator==(const SeedSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace flashproof
