// Many cases of one kernel, answered by few launches and judged by many threads: what makes a GPU worth its while, where one
// case of a fuzzer keeps one streaming multiprocessor busy for a microsecond.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fuzz/score/score.h"
#include "reference/oracle/threads.h"

namespace flashproof {

struct BatchOptions {
  Executor executor = Executor::cpu;
  Team* team = nullptr;  // that launches and judges; null: the caller does
};

struct BatchResult {
  /// One per case, of one run and the judging laws. What fails as a launch is run again alone; if that passes, or is not possible any
  /// more, it says so ("batch:exceeds_bound").
  std::vector<Score> scores;
  /// The cases of each launch of several, as indices: a failure of a launch is of all of them.
  std::vector<std::vector<std::size_t>> failed_launches;
  /// The context of the GPU is lost: what had not run by then has not run. `together`: the cases of the launch that lost it, where
  /// there were several, so that it is not known which did; else the case has its finding ("error").
  bool lost = false;
  std::vector<std::size_t> together;
  std::string why;
};

/// Throws InfrastructureError.
BatchResult score_batch(const Kernel& kernel, std::span<const Case> cases, const BatchOptions& options);

}  // namespace flashproof
