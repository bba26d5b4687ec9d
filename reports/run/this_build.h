// The build that this program is from, for the commands that build, run and measure: they work on a checkout, not on what was
// carried away from it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace flashproof {

struct ThisBuild {
  std::filesystem::path root;    // of the sources
  std::filesystem::path folder;  // root/build/PRESET
  std::string preset() const { return folder.filename().string(); }
  /// Of a variable in CMake's cache; empty: it is not there.
  std::string cached(const std::string& variable) const;
};

/// By the CMakeCache.txt above the program; none: it lies elsewhere than it was built.
std::optional<ThisBuild> find_this_build();

/// The same; throws UsageError "`what`: ..." for none.
ThisBuild this_build(const std::string& what);

}  // namespace flashproof
