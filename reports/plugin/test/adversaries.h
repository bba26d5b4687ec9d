// Test support: kernels that must not get a pass, and some that must.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "properties/laws/law.h"
#include "reference/problem/problems.h"

namespace flashproof {

enum class Claim : std::uint8_t {
  wrong,  // must never pass, whatever is declared
  lazy,   // right wherever its declaration asks for something, and nowhere else: passes at most where a right one does
  right,  // the rounded truth: a declaration under which it does not pass is too wide for a test
};

struct Adversary {
  std::string_view name;
  Claim claim;
  bool o, lse;  // what it returns wrongly
  /// `right` is the rounded truth of the problem. Throws UsageError where it refuses.
  Output (*answer)(const Kernel& kernel, const Problem& problem, Output right);
};

std::span<const Adversary> adversaries();
const Adversary& find_adversary(std::string_view name);

/// The rounded truth of a problem as a whole output, as a kernel with these semantics returns it: 0 where it declares nothing.
Output right_output(const Problem& problem, const Semantics& semantics = {});
/// For Trial: what the kernel does not return is replaced by the truth, as call.cc does. `right` is that of `known`, made once.
Runner runner_of(const Adversary& adversary, const Problem& known, const Output& right);

}  // namespace flashproof
