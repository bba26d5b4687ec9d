// A declaration beside the library: a TOML file whose fields stand in place of those of a description (kernels/plugin/README.md), for a
// library that one did not write, or that cannot be built again.
//
//   semantics = "flash-attention-2"            # of every kernel
//   [kernel."attention.row.mine"]              # of one
//   arithmetic = { preset = "fa2_sm80", underflow = "flush" }
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "kernels/plugin/load.h"

namespace flashproof {

/// The tables of a TOML file that describes kernels, as JSON. Throws UsageError for a file that is none, and InfrastructureError.
nlohmann::json toml_fields(const std::filesystem::path& file);

class DeclaredBy {
 public:
  /// Throws UsageError for a file that is none, and InfrastructureError.
  explicit DeclaredBy(const std::filesystem::path& file);
  /// Plugin::Declare. A description that is no JSON object stays as it is.
  std::string operator()(const std::string& id, const std::string& description);
  /// Throws UsageError where the file names a kernel that the library has not.
  void require_used(const Plugin& plugin) const;

 private:
  std::string file_;
  nlohmann::json all_, kernels_;
};

}  // namespace flashproof
