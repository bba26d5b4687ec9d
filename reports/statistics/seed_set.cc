#include "reports/statistics/seed_set.h"

#include <algorithm>
#include <limits>

namespace flashproof {

void SeedSet::add(Interval interval) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  // Those that overlap or touch it become one with it.
  const auto begin = std::ranges::find_if(
      intervals_, [&](const Interval& i) { return i.second == kLast || i.second + 1 >= interval.first; });
  auto end = begin;
  for (; end != intervals_.end() && (interval.second == kLast || end->first <= interval.second + 1); ++end) {
    interval = {std::min(interval.first, end->first), std::max(interval.second, end->second)};
  }
  intervals_.insert(intervals_.erase(begin, end), interval);
}

void SeedSet::merge(const SeedSet& other) {
  for (const Interval& interval : other.intervals_) add(interval);
}

std::optional<SeedSet::Interval> SeedSet::common(const SeedSet& other) const {
  for (const Interval& a : intervals_) {
    for (const Interval& b : other.intervals_) {
      const Interval both{std::max(a.first, b.first), std::min(a.second, b.second)};
      if (both.first <= both.second) return both;
    }
  }
  return std::nullopt;
}

SeedSet SeedSet::intersection(const SeedSet& other) const {
  SeedSet both;
  for (auto a = intervals_.begin(), b = other.intervals_.begin();
       a != intervals_.end() && b != other.intervals_.end();) {
    const Interval part{std::max(a->first, b->first), std::min(a->second, b->second)};
    if (part.first <= part.second)
      both.intervals_.push_back(part);  // ascending, and never adjacent: one of the two has a gap
    ++(a->second < b->second ? a : b);
  }
  return both;
}

SeedSet SeedSet::without(const SeedSet& other) const {
  SeedSet rest;
  auto hole = other.intervals_.begin();
  for (Interval left : intervals_) {
    for (; hole != other.intervals_.end() && hole->second < left.first; ++hole) {
    }
    bool any = true;
    for (auto h = hole; any && h != other.intervals_.end() && h->first <= left.second; ++h) {
      if (h->first > left.first) rest.intervals_.emplace_back(left.first, h->first - 1);
      any = h->second < left.second;
      if (any) left.first = h->second + 1;
    }
    if (any) rest.intervals_.push_back(left);
  }
  return rest;
}

std::uint64_t SeedSet::size() const {
  std::uint64_t sum = 0;
  for (const Interval& i : intervals_) sum += i.second - i.first + 1;
  return sum;
}

}  // namespace flashproof
