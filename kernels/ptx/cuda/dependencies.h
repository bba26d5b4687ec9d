// The files that PTX was made of, each with the hash of what stood in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/run/object_cache.h"

namespace flashproof::ptx {

struct Dependency {
  std::string path;
  Hash hash;
};

/// Of a rule for make, as compilers write it: "target : file file \".
std::vector<std::string> prerequisites(std::string_view rule);

/// With the hashes of the files as they are. Throws UsageError where one cannot be read.
std::vector<Dependency> dependencies_in(std::string_view rule);

/// As text, in front of the PTX.
std::string with_dependencies(const std::vector<Dependency>& files, const std::string& ptx);

/// The PTX of such a text, if every file is what it was.
std::optional<std::string> unchanged(std::string_view kept);

}  // namespace flashproof::ptx
