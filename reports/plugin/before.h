// What explained a kernel's open arithmetic in an earlier run (its --json), beside what explains it now: a change of precision that
// "unknown" lets through must not go unsaid.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/plugin/check.h"

namespace flashproof {

class Before {
 public:
  /// Of a file that `check ./MY.so --json` wrote. Throws UsageError for any other.
  explicit Before(const std::filesystem::path& file);
  /// A sentence for each kernel of which another alternative explains this run, with how much wider or narrower its bound is.
  std::vector<std::string> changes(const PluginReport& report) const;

 private:
  std::map<std::pair<std::string, std::string>, std::string> explained_;  // by kernel and format, as members of JSON
};

}  // namespace flashproof
