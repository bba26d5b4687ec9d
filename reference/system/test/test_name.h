// Names of parametrised tests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace flashproof {

/// A kernel's id or an instruction, as the name of a test of it: without dots.
inline std::string test_name(std::string_view id) {
  std::string name(id);
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace flashproof
