// The statistics of pairs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/compare/intervals.h"
#include "reports/compare/pair.h"

namespace flashproof::compare {
namespace {

struct Counts {
  std::uint64_t cases = 0;
  std::vector<SignTest> tests;
};

}  // namespace

SignTest sign_test(std::uint64_t worse, std::uint64_t better, std::uint64_t equal, std::size_t tests) {
  SignTest test{worse, better, equal, 1};
  const std::uint64_t decided = worse + better;
  if (decided > 0) test.p = std::min(1.0, 2 * coin_law(decided, std::min(worse, better)) * static_cast<double>(tests));
  return test;
}

std::vector<PairedGroup> paired_groups(const std::vector<PairedCase>& cases, std::size_t metrics) {
  std::map<Key, Counts> counts;
  for (const PairedCase& c : cases) {
    Key key = c.key;
    key.family = "*";
    Counts& n = counts[key];
    n.tests.resize(metrics);
    ++n.cases;
    if (c.base_figures.empty() || c.head_figures.empty()) continue;
    for (std::size_t i = 0; i < metrics; ++i) {
      const int sign = order_of_errors(c.base_figures.at(i), c.head_figures.at(i));
      ++(sign > 0 ? n.tests[i].worse : sign < 0 ? n.tests[i].better : n.tests[i].equal);
    }
  }
  std::vector<PairedGroup> groups;
  for (auto& [key, n] : counts) {
    for (SignTest& t : n.tests) t = sign_test(t.worse, t.better, t.equal, metrics * counts.size());
    groups.push_back({key, n.cases, std::move(n.tests)});
  }
  return groups;
}

std::vector<const PairedCase*> Paired::class_changes() const { return by_harm(cases); }

std::string pair_command(const std::string& base, const std::string& head, const std::string& case_line,
                         const Key& key) {
  std::string line = fmt::format("./flashproof compare {} {} --case {}", base, head, case_line);
  if (key.executor != "cpu") line += " --exec " + key.executor;
  if (key.math != "det") line += " --math " + key.math;
  return line;
}

std::string Paired::replay(const PairedCase& one) const { return pair_command(base, head, one.case_line, one.key); }

}  // namespace flashproof::compare
