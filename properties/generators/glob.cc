#include "properties/generators/glob.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {

// The usual two-pointer scan: on a mismatch, give the last * one character more. Time |pattern|·|name|, no recursion,
// so that a pattern like ***…*a cannot blow up.
bool glob_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(), [](char c) { return c == '*'; });
}

std::string unknown_name(std::string_view what, std::string_view wrong, std::span<const std::string_view> names) {
  std::string line = fmt::format("unknown {} {}", what, quote(wrong));
  const auto near = near_matches(wrong, names);
  if (!near.empty()) return line + "; near: " + fmt::format("{}", fmt::join(near, ", "));
  constexpr std::size_t kListed = 12;
  std::vector<std::string_view> shown(names.begin(), names.end());
  // Those of the same problem first; seeded faults are the last thing that a wrong name was meant for.
  const std::string_view head = wrong.substr(0, wrong.find('.') + 1);
  std::ranges::stable_partition(shown, [&](std::string_view name) { return name.starts_with(head); });
  std::ranges::stable_partition(shown, [](std::string_view name) { return name.find(".broken.") == name.npos; });
  shown.resize(std::min(shown.size(), kListed));
  return line + fmt::format("; there are: {}{}", fmt::join(shown, ", "), names.size() > kListed ? ", ..." : "");
}

std::vector<std::size_t> select_names(std::span<const std::string> patterns, std::span<const std::string_view> names,
                                      std::string_view what) {
  std::vector<bool> chosen(names.size(), patterns.empty());
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!glob_match(pattern, names[i])) continue;
      chosen[i] = any = true;
    }
    if (!any) throw UsageError(unknown_name(what, pattern, names));
  }
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (chosen[i]) result.push_back(i);
  }
  return result;
}

}  // namespace flashproof
