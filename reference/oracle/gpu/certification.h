// A problem of production size, certified: every row on a GPU, or a stated sample of rows on the CPU; and the checks
// that the certificate is one: rows recomputed by the CPU tiers overlap, a planted error of 2^-30 does not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/threads.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct Overlap {
  std::int64_t compared = 0;     // rows with a finite radius on both sides
  std::int64_t overlapping = 0;  // of them, rows whose balls of o and lse all overlap
  double closest = 0;            // the largest |difference| / (sum of the radii)
};
/// Row n of both is the same row.
Overlap overlap(const Truth& a, const Truth& b);

struct Certification {
  GpuShare share;         // of the rows that were computed
  std::int64_t rows = 0;  // of the problem
  double milliseconds = 0, upload_milliseconds = 0;
  double teraflops = 0;
  GpuTimes times;  // on the GPU, of the median run

  Overlap dd;  // a few of the rows with the double-double tier

  // On the GPU only.
  std::int64_t sampled = 0;                             // rows recomputed by the fp64 tier of the CPU
  Overlap fp64;                                         // those
  std::int64_t planted_scores = 0, planted_values = 0;  // sampled rows that notice a planted error
  bool planted = false;                                 // was it tried

  /// Why this certifies nothing; empty if nothing is wrong.
  std::string fault() const;
  bool sound() const { return fault().empty(); }
};

/// Every row on the GPU, `sample` of them again on the CPU. The problem holds attention; throws UsageError if it is not
/// valid.
Certification certify_on_gpu(const Problem& problem, std::int64_t sample, std::uint64_t seed, const Threads& threads);
/// `rows_per_head` rows of every head on the CPU, all if that is as many; a few of them again in double-double. The
/// problem is attention with dense tensors, as production_problem() makes it. Taken by value: move it, it may be large.
Certification certify_on_cpu(Problem problem, std::int64_t rows_per_head, std::uint64_t seed, const Threads& threads);

/// `count` distinct rows out of n, ascending.
std::vector<std::int64_t> sample_rows(std::int64_t n, std::int64_t count, std::uint64_t seed);

}  // namespace flashproof
