#include "properties/generators/coverage/coverage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/generators/backward_case.h"
#include "properties/generators/coverage/pairs.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

bool shows_nothing(const SoftmaxProblem& p) {
  const bool hidden = !p.row_length.empty() && std::ranges::max(p.row_length) == 0;
  return p.x.elements() == 0 || hidden;
}
bool shows_nothing(const MergeProblem& p) {
  for (std::int64_t c = 0; c < p.lse.shape[0]; ++c) {
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
      if (p.lse.at({c, r}) != -std::numeric_limits<double>::infinity()) return false;
    }
  }
  return true;
}
bool shows_nothing(const AttentionProblem& p) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t i = 0; i < p.q_length(s); ++i) {
      const auto keys = p.visible_keys(s, i);
      if (keys.first < keys.last) return false;
    }
  }
  return true;
}

/// Of the dimension "lengths".
std::size_t lengths_axis(ProblemKind problem) {
  return problem == ProblemKind::softmax ? std::size_t{kSoftmaxLengths}
         : problem == ProblemKind::merge ? std::size_t{kMergeEmpty}
                                         : axis_of(problem, kLengths);
}

/// validate()'s words where the problem forbids the two levels; empty: it does not.
std::string refusal(ProblemKind problem, const Levels& levels) {
  const pairwise::Kind& kind = pairwise::kind_for(problem);
  const pairwise::Choice choice = kind.choose(levels, pairwise::Numbers(levels.size(), 0));
  if (choice.fits) return {};
  Random random(1, 1);
  try {
    validate(kind.make({problem, "pairs", 1, {}}, choice.numbers, random));
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

std::string place_name(ProblemKind problem, std::size_t dimension, int level) {
  const Dimension& d = dimensions(problem)[dimension];
  return fmt::format("{} = {}", d.name, d.levels[static_cast<std::size_t>(level)].name);
}

}  // namespace

void CoverageTable::add(const Problem& problem) {
  ++cases_;
  const auto all = dimensions(problem_);
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  const bool nothing = gradient != nullptr ? shows_nothing(gradient->forward)
                                           : visit_forward([](const auto& p) { return shows_nothing(p); }, problem);
  const std::size_t why = lengths_axis(problem_);
  std::vector<Level> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t number = all[i].measure(problem);
    if (const int level = all[i].level_of(number); level >= 0) places.emplace_back(i, level);
    if (!nothing) ++values_[{i, number}];
  }
  for (std::size_t x = 0; x < places.size(); ++x) {
    if (!nothing || places[x].first == why) ++levels_[places[x]];
    for (std::size_t y = 0; y < x; ++y) {
      if (!nothing || places[x].first == why || places[y].first == why) ++pairs_[{places[y], places[x]}];
    }
  }
}

std::uint64_t CoverageTable::count(const Level& x, const Level& y) const {
  const auto found = pairs_.find(std::minmax(x, y));
  return found == pairs_.end() ? 0 : found->second;
}

std::vector<std::string> CoverageTable::gaps(std::vector<std::string>* forbidden) const {
  const auto all = dimensions(problem_);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int a = 0; a < std::ssize(all[i].levels); ++a) {
      if (!levels_.contains({i, a})) result.push_back(place_name(problem_, i, a) + " is not drawn");
      for (std::size_t j = 0; j < i; ++j) {
        for (int b = 0; b < std::ssize(all[j].levels); ++b) {
          if (count({i, a}, {j, b}) > 0) continue;
          Levels levels(all.size(), kFree);
          levels[i] = a, levels[j] = b;
          const std::string pair = fmt::format("{} with {}", place_name(problem_, i, a), place_name(problem_, j, b));
          const std::string why = refusal(problem_, levels);
          if (why.empty()) result.push_back(pair + " is not drawn");
          if (!why.empty() && forbidden != nullptr) forbidden->push_back(fmt::format("{}: {}", pair, why));
        }
      }
    }
  }
  return result;
}

std::string CoverageTable::text() const {
  const auto all = dimensions(problem_);
  std::string text = fmt::format("{}: {} cases, {} pairs of levels drawn\n", name(problem_), cases_, pairs_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("  {:<18}", all[i].name);
    for (int a = 0; a < std::ssize(all[i].levels); ++a) {
      const auto found = levels_.find({i, a});
      std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
      for (const auto& [pair, cases] : pairs_) {
        if (pair.first == Level{i, a} || pair.second == Level{i, a}) fewest = std::min(fewest, cases);
      }
      text += fmt::format("  {}: {} ({})", all[i].levels[static_cast<std::size_t>(a)].name,
                          found == levels_.end() ? 0 : found->second, found == levels_.end() ? 0 : fewest);
    }
    const auto drawn = std::ranges::count_if(all[i].values, [&](std::int64_t v) { return values_.contains({i, v}); });
    if (!all[i].values.empty()) text += fmt::format("  values: {} of {}", drawn, all[i].values.size());
    text += "\n";
  }
  std::vector<std::string> forbidden;
  const std::vector<std::string> missing = gaps(&forbidden);
  for (const std::string& line : forbidden) text += "  forbidden: " + line + "\n";
  for (const std::string& line : missing) text += "  GAP: " + line + "\n";
  return text;
}

CoverageTable default_coverage(ProblemKind problem, std::string_view left_out) {
  CoverageTable table(problem);
  for (const Family& family : families()) {
    if (!family.serves(problem) || family.name == left_out) continue;
    for (std::uint64_t seed = 1; seed <= family.cases(problem, kDefaultSeeds); ++seed) {
      if (const auto drawn = drawn_shape({problem, std::string(family.name), seed, {}})) table.add(*drawn);
    }
  }
  return table;
}

}  // namespace flashproof
