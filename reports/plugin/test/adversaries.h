// Test support: kernels that must not get a pass, and some that must.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/laws/law.h"
#include "reference/problem/problems.h"

namespace flashproof {

enum class Claim : std::uint8_t {
  wrong,  // must never pass, whatever is declared
  lazy,   // right wherever its declaration asks for something, and nowhere else: passes at most where a right one does
  right,  // the rounded truth: a declaration under which it does not pass is too wide for a test
};

/// `right` is the rounded truth of the problem. Throws UsageError where it refuses.
using Answer = Output (*)(const Kernel& kernel, const Problem& problem, Output right);

struct Adversary {
  std::string name;
  Claim claim;
  std::vector<Part> parts;  // what it returns wrongly; the others are right
  Answer answer;
};

/// Of kernels for this problem.
std::span<const Adversary> adversaries(ProblemKind problem);
const Adversary& find_adversary(ProblemKind problem, std::string_view name);

/// The rounded truth of a problem as a whole output, as a kernel with these semantics returns it: 0 where it declares nothing. Of a
/// gradient that of a stage: what the o and lse of the problem come to.
Output right_output(const Problem& problem, const Semantics& semantics = {}, Overflow overflow = Overflow::ieee);
/// For Trial: what the kernel does not return is replaced by the truth, as call.cc does. `right` is that of `known`, made once.
Runner runner_of(const Adversary& adversary, const Problem& known, const Output& right);

}  // namespace flashproof
