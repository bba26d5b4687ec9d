// Two benchmark results beside each other: Google Benchmark's JSON with its repetitions, or times measured here.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/compare/intervals.h"

namespace flashproof::compare {

/// One file: seconds of every repetition, by benchmark.
struct BenchFile {
  std::string name;
  std::map<std::string, std::vector<double>> times;
  std::map<std::string, std::string> errors;  // benchmarks that did not run, and why
  std::string machine;                        // cores, caches, device: what tells two machines apart
  std::string rounds;  // not empty and the same in both files: repetition i of one ran beside repetition i of the other
};

/// Throws UsageError for what is not Google Benchmark's JSON, has aggregates alone, more than kMostRepetitions, or a time
/// that is not positive.
BenchFile read_bench(const std::string& file);
BenchFile bench_of(const nlohmann::json& json, const std::string& name);

enum class SpeedVerdict { slower, faster, no_change_shown, too_few, drifts, other_machine };

struct SpeedChange {
  std::string name;
  std::size_t base_count = 0, head_count = 0;  // repetitions; rounds if paired
  bool paired = false;
  double base_median = 0, head_median = 0;  // seconds
  RatioInterval interval;
  SpeedVerdict verdict{};

  /// "slower by 3.1 % [2.6, 3.5]", "no change shown [-0.4, 0.6] %", ...
  std::string text() const;
};

struct Speed {
  std::vector<SpeedChange> changes;  // by name
  std::vector<std::string> only_base, only_head, not_run;
  std::map<std::string, std::string> missing = {};  // benchmarks that HEAD lacks or failed in, and why
  /// "each interval 99.98 %, all 50 together 99 %; ...".
  std::string how() const;
};

/// All intervals hold together with probability 1 - kSpeedLevel at least: each of m is taken at kSpeedLevel / m (Bonferroni:
/// the probabilities of missing add up at most). Both series of each are asked for a drift at half of that. So of a hundred comparisons of a build with itself one shows a change.
inline constexpr double kSpeedLevel = 0.01;

/// Pairs of files, BASE and HEAD. Several pairs are rounds: of each round and benchmark the ratio of the medians counts, since
/// repetitions inside one process share what that process was dealt (addresses, clocks, neighbours). Throws UsageError if
/// no benchmark is in all of them.
Speed compare_speed(const std::vector<std::pair<BenchFile, BenchFile>>& rounds);

}  // namespace flashproof::compare
