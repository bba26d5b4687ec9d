// Whether a kernel takes a problem. A kernel whose declaration says nothing takes the plain form of its kind alone: one
// that would silently leave out a sink, a softcap or the l of a state is refused the problem, not judged for its answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

/// "d = 257: legal range 1..256": why a kernel does not take a length.
inline std::string beyond_range(std::string_view what, std::int64_t value, std::int64_t most) {
  return std::string(what) + " = " + std::to_string(value) + ": legal range 1.." + std::to_string(most);
}

class Refusal {
 public:
  using Own = std::function<std::string(const Problem&)>;

  Refusal() = default;
  /// `own` (none: takes all): empty if the kernel takes this problem, else why not, naming the argument and the legal range. It is only
  /// asked about problems with no other features than `takes`.
  Refusal(Own own, std::vector<Feature> takes = {}) : own_(std::move(own)), takes_(std::move(takes)) {}
  /// So that `.unsupported = some_function` is one conversion, not two.
  Refusal(std::string (*own)(const Problem&)) : own_(own) {}

  bool takes(Feature feature) const { return std::ranges::find(takes_, feature) != takes_.end(); }
  /// Empty if the kernel takes this valid problem of its kind, else why not, in one line.
  std::string operator()(const Problem& problem) const;

 private:
  Own own_;
  std::vector<Feature> takes_;
};

}  // namespace flashproof
