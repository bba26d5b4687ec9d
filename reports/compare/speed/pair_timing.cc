#include "reports/compare/speed/pair_timing.h"

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "kernels/run/run.h"
#include "kernels/simt/cpu/executor.h"
#include "reference/system/error.h"

namespace flashproof::compare {
namespace {

double seconds_of(const Kernel& kernel, const Case& c) {
  const auto start = std::chrono::steady_clock::now();
  run(kernel, c.problem);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Does it run to its end? Also what warms caches up.
bool runs(const Kernel& kernel, const Case& c) {
  if (!kernel.unsupported(c.problem).empty()) return false;
  try {
    run(kernel, c.problem);
    return true;
  } catch (const UsageError&) {
  } catch (const simt::Fault&) {
  } catch (const KernelFault&) {
  }
  return false;
}

}  // namespace

std::pair<BenchFile, BenchFile> time_pair(const Kernel& base, const Kernel& head, const Plan& plan,
                                          const std::string& label, int rounds) {
  std::map<std::string, std::vector<Case>> by_format;
  const std::size_t step = (plan.cases.size() + kTimedCases - 1) / kTimedCases;
  for (std::size_t i = 0; i < plan.cases.size(); i += step) {
    try {
      auto c = plan.make(i);
      if (runs(base, c) && runs(head, c))
        by_format[std::string(info(plan.cases[i].format).name)].push_back(std::move(c));
    } catch (const UsageError&) {  // the family has no such case
    }
  }
  std::pair<BenchFile, BenchFile> files;
  files.first.name = "BASE";
  files.second.name = "HEAD";
  files.first.rounds = files.second.rounds = label;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [format, cases] : by_format) {
      const bool base_first = round % 2 == 0;
      double a = 0, b = 0;
      for (const auto& c : cases) {
        if (base_first) a += seconds_of(base, c);
        b += seconds_of(head, c);
        if (!base_first) a += seconds_of(base, c);
      }
      const std::string series = fmt::format("{}/{}", label, format);
      files.first.times[series].push_back(a);
      files.second.times[series].push_back(b);
    }
  }
  return files;
}

}  // namespace flashproof::compare
