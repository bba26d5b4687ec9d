// Two git revisions: each is checked out below build/compare, built, and makes its own report, with its own launcher and the same
// options. Of kernels that both compile to the same object file no case is run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/compare/changed_kernels.h"
#include "reports/run/this_build.h"

namespace flashproof::compare {

/// The commit that a text names in a checkout; "." for the working tree, which "." and WORKTREE name; none if it names no commit.
std::optional<std::string> commit_of(const std::filesystem::path& root, const std::string& text);

struct Revision {
  std::string text, commit;  // as the user wrote it; what commit_of() says of it
};

struct RevisionArguments {
  Revision base, head;
  std::vector<std::string> launcher;  // --portable, --no-install, --no-build, as they were given
  std::vector<std::string> report;    // options of report
  bool every_kernel = false;          // also those that both revisions compile alike
  int rounds = 0;                     // of both benchmarks, one after the other; 0: none
  std::string benchmark_filter = ".";
  std::function<void(const std::string&)> say = {};
};

struct RevisionReports {
  int code = 0;  // an exit code other than 0: one side ran nothing, which was said, and there is no comparison
  std::optional<ChangedKernels> changed;                    // those that were run; none: all that were asked for
  std::filesystem::path base, head;                         // report.json
  std::vector<std::pair<std::string, std::string>> rounds;  // results of Google Benchmark

  /// No kernel differs: no report was made.
  bool same_program() const { return changed && changed->ids.empty(); }
};

/// One call at a time in a checkout; another waits, and says so. Throws UsageError for what is no revision of flashproof and
/// InfrastructureError "BASE ...: ..." for one that does not build or whose report fails.
RevisionReports report_revisions(const ThisBuild& build, const RevisionArguments& arguments);

}  // namespace flashproof::compare
