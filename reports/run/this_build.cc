#include "reports/run/this_build.h"

#include <fstream>

#include "reference/system/error.h"

namespace flashproof {

namespace fs = std::filesystem;

std::string ThisBuild::cached(const std::string& variable) const {
  std::ifstream cache(folder / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);) {  // NAME:TYPE=VALUE
    const std::size_t equals = line.find('=');
    if (line.starts_with(variable + ":") && equals != std::string::npos) return line.substr(equals + 1);
  }
  return {};
}

std::optional<ThisBuild> find_this_build() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); folder != folder.parent_path(); folder = folder.parent_path()) {
    if (!fs::exists(folder / "CMakeCache.txt", error)) continue;
    ThisBuild build{.root = {}, .folder = folder};
    build.root = build.cached("CMAKE_HOME_DIRECTORY");
    if (build.root.empty() || !fs::is_directory(build.root, error)) return std::nullopt;
    return build;
  }
  return std::nullopt;
}

ThisBuild this_build(const std::string& what) {
  std::optional<ThisBuild> build = find_this_build();
  if (!build) throw UsageError(what + ": needs the checkout; legal from the folder that the program was built in");
  return *std::move(build);
}

}  // namespace flashproof
