// A fuzzer's cases without a fuzzer: random inputs over the families whose numbers overflow, and all others, on every
// hardened kernel. What a campaign would report as a finding is one here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

struct Sweep {
  std::uint64_t cases = 0;       // that a family made
  std::uint64_t executions = 0;  // of a kernel on one of them
  std::uint64_t symbolic = 0;    // rows whose answer is no number
  std::map<std::string, std::string>
      findings;  // "kernel what" and the first case that showed it: what to replay, and why

  std::string text() const;
};

/// The first `count` cases of the stream `seed`: each is one problem, and every hardened kernel that takes it. `only`: a part
/// of a kernel's id, or empty.
Sweep sweep(ProblemKind problem, std::uint64_t seed, std::uint64_t count, std::string_view only = {});

}  // namespace flashproof
