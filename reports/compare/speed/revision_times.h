// The speed of two revisions: their benchmarks, built in their trees and run in turn.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reports/run/this_build.h"

namespace flashproof::compare {

struct TimingArguments {
  int rounds = 0;                // of both, one after the other
  std::string benchmark_filter;  // Google Benchmark's
  std::function<void(const std::string&)> say;
};

/// Files with Google Benchmark's results of BASE and HEAD, per round. Who goes first changes from round to round: a drift of the
/// machine hits both. `trees`: both configured, with the preset of `build`. Throws InfrastructureError for a benchmark that does not
/// build or fails.
std::vector<std::pair<std::string, std::string>> time_revisions(const std::array<std::filesystem::path, 2>& trees,
                                                                const ThisBuild& build,
                                                                const TimingArguments& arguments);

}  // namespace flashproof::compare
