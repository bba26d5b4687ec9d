#include "reference/system/near_matches.h"

#include <algorithm>

namespace flashproof {
namespace {

// Damerau-Levenshtein distance, optimal string alignment form: insert, delete, replace, swap neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

constexpr std::size_t kMaxDistance = 3;
constexpr std::size_t kMaxMatches = 3;
constexpr std::size_t kMaxLength = 256;  // a hostile name must not cost quadratic time

}  // namespace

std::vector<std::string_view> near_matches(std::string_view wrong, std::span<const std::string_view> names) {
  struct Match {
    std::size_t rank;
    std::size_t place;  // in the list: decides between equal ranks
    std::string_view name;
  };
  std::vector<Match> matches;
  if (wrong.empty() || wrong.size() > kMaxLength) return {};
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const std::size_t distance = edit_distance(wrong, name);
    const bool prefix = name.starts_with(wrong) || wrong.starts_with(name);
    // Short names: three edits of "clos" reach any word of four letters, so at most half of the letters may differ.
    const bool near = distance <= kMaxDistance && 2 * distance <= std::max(wrong.size(), name.size());
    if (prefix) {
      matches.push_back({std::min<std::size_t>(distance, 1), matches.size(), name});
    } else if (near) {
      matches.push_back({distance, matches.size(), name});
    }
  }
  std::sort(matches.begin(), matches.end(),
            [](const Match& a, const Match& b) { return a.rank != b.rank ? a.rank < b.rank : a.place < b.place; });
  if (matches.size() > kMaxMatches) matches.resize(kMaxMatches);
  std::vector<std::string_view> best;
  best.reserve(matches.size());
  for (const Match& match : matches) best.push_back(match.name);
  return best;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names) {
  const std::vector<std::string_view> near = near_matches(wrong, names);
  if (near.empty()) return "";
  std::string text = " (did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += near[i];
  }
  return text + "?)";
}

}  // namespace flashproof
