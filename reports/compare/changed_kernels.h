// Which kernels two builds of the program compile differently. One compiler makes the same object file of the same text with the same
// options, wherever the tree lies, so what has the same bytes computes the same: nothing is guessed from names or from git.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flashproof::compare {

struct ChangedKernels {
  std::vector<std::string> ids;  // in id order; none: the two programs are the same, seeded faults aside
  std::size_t of = 0;            // kernels in HEAD
};

/// Of two build folders, in both of which the program is built. None: code that all kernels share differs too, or it cannot be told
/// what the programs are linked of.
std::optional<ChangedKernels> changed_kernels(const std::filesystem::path& base, const std::filesystem::path& head);

}  // namespace flashproof::compare
