// A text in parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flashproof::ptx {

/// What stands between the separators, empty parts too: one more than there are separators.
inline std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace flashproof::ptx
