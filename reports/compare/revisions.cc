#include "reports/compare/revisions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "reference/problem/descriptor.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reference/problem/process.h"
#include "reference/problem/text.h"
#include "reports/run/git.h"

namespace flashproof::compare {
namespace {

namespace fs = std::filesystem;

const char* const kWorkingTree = ".";

/// Held until the descriptor is closed.
Descriptor lock(const fs::path& file, const std::function<void(const std::string&)>& say) {
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!descriptor) throw InfrastructureError(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) return descriptor;
  say("waiting: another call is comparing in this tree");
  while (::flock(descriptor.get(), LOCK_EX) != 0) {
    if (stop_requested()) throw InfrastructureError("interrupted");
    if (errno != EINTR) throw InfrastructureError(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  }
  return descriptor;
}

/// Its stdout is not data of ours.
int quietly(CommandLine command) {
  command.output = "/dev/null";
  return run_command(command);
}

/// A worktree of the commit, whole whatever an earlier call left there.
fs::path checkout(const fs::path& root, const std::string& commit) {
  const fs::path tree = root / "build/compare" / commit;
  if (fs::exists(tree / ".git") && output_of(git(tree, {"rev-parse", "HEAD"})) == commit) {
    if (quietly(git(tree, {"reset", "--quiet", "--hard"})) == 0) return tree;
    throw InfrastructureError(fmt::format("cannot restore {}; remove it, and try again", tree.string()));
  }
  fs::remove_all(tree);
  quietly(git(root, {"worktree", "prune"}));
  struct HalfDone {  // also where it is interrupted
    fs::path tree;
    ~HalfDone() {
      std::error_code ignored;
      if (!tree.empty()) fs::remove_all(tree, ignored);
    }
  } half_done{tree};
  if (quietly(git(root, {"worktree", "add", "--quiet", "--force", "--detach", tree.string(), commit})) != 0) {
    throw InfrastructureError(fmt::format("cannot check out {} at {}", commit, tree.string()));
  }
  half_done.tree.clear();
  return tree;
}

struct Side {
  std::string name;  // BASE or HEAD
  const Revision* revision = nullptr;
  fs::path tree;
  std::string text() const { return name + " " + quote(revision->text); }
};

/// Returns an exit code; 0: the report is at `to`.
int make_report(const Side& side, const RevisionArguments& arguments, const fs::path& root, const fs::path& to) {
  const fs::path launcher = side.tree / "flashproof";
  if (::access(launcher.c_str(), X_OK) != 0) {
    throw UsageError(side.text() + " has no ./flashproof: legal are revisions of flashproof");
  }
  const bool own = side.tree == root;
  const fs::path out = own ? root / "build/compare/worktree" : side.tree / "build/compare-report";
  fs::remove_all(out);
  fs::create_directories(out);
  CommandLine command{.words = {launcher.string()}, .output = out / "report.txt"};
  const auto add = [&](const std::vector<std::string>& words) {
    command.words.insert(command.words.end(), words.begin(), words.end());
  };
  add(arguments.launcher);
  add({"report"});
  add(arguments.report);
  add({"--out", out.string()});
  // What both revisions compile alike comes from a compiler cache, where there is one.
  command.environment = {
      {"CCACHE_BASEDIR", side.tree.string()}, {"CCACHE_NOHASHDIR", "1"}, {"FLASHPROOF_REVISION", std::nullopt}};
  forget_callers_git(command);
  const int code = run_command(command);
  const bool ran = code == kExitFine || code == kExitFinding || code == kExitSkipped;
  if (!ran) {
    const std::string why = fmt::format("{}: its report ended with exit code {}", side.text(), code);
    if (code == kExitUsage) throw UsageError(why);
    throw InfrastructureError(why);
  }
  std::error_code error;
  const fs::path report = out / "report.json";
  if (const auto bytes = fs::file_size(report, error); error || bytes == 0) {
    arguments.say(side.text() + ": no case was executed, so there is nothing to compare");
    return code == kExitSkipped ? kExitSkipped : kExitFinding;
  }
  // Both sides may be one commit: then the second run would replace the first's file.
  fs::copy_file(report, to, fs::copy_options::overwrite_existing);
  return kExitFine;
}

/// A compiler takes 1.5 GB. Of all memory, not of what is free: a file cache gives way.
int compiler_jobs() {
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return std::clamp(static_cast<int>(std::min(memory / 1.5e9, 4096.0)), 1, default_jobs());
}

/// Both benchmarks in turn, who goes first changing.
std::vector<std::pair<std::string, std::string>> measure(const std::array<Side, 2>& sides, const ThisBuild& build,
                                                         const RevisionArguments& arguments) {
  const bool gpu = build.preset() == "cuda";
  const std::string target = gpu ? "gpu_benchmark" : "kernels_benchmark";
  const fs::path program = gpu ? "kernels/gpu_benchmark/gpu_benchmark" : "benchmarks/kernels_benchmark";
  const fs::path times = build.root / "build/compare/times";
  fs::remove_all(times);
  fs::create_directories(times);
  const auto folder = [&](const Side& side) { return (side.tree / "build" / build.preset()).string(); };
  for (const Side& side : sides) {
    arguments.say(fmt::format("building {} in {}", target, side.tree.string()));
    const fs::path log = times / "build.log";
    CommandLine configure{.words = {"cmake", "-DFLASHPROOF_TESTS=ON", folder(side)}, .output = log, .errors = log};
    CommandLine compile{
        .words = {"cmake", "--build", folder(side), "--parallel", std::to_string(compiler_jobs()), "--target", target},
        .output = log,
        .errors = log};
    if (run_command(configure) != 0 || run_command(compile) != 0) {
      throw InfrastructureError(
          fmt::format("{} does not build in {}; see {}", target, side.tree.string(), log.string()));
    }
  }
  std::vector<std::pair<std::string, std::string>> results;
  for (int round = 1; round <= arguments.rounds; ++round) {
    arguments.say(fmt::format("round {} of {}", round, arguments.rounds));
    std::array<std::string, 2> files;
    for (std::size_t turn = 0; turn < 2; ++turn) {
      const std::size_t at = round % 2 == 0 ? 1 - turn : turn;
      files[at] = (times / fmt::format("{}-{}.json", at, round)).string();
      const fs::path log = times / "run.log";
      CommandLine run{.words = {folder(sides[at]) / program, "--benchmark_filter=" + arguments.benchmark_filter,
                                "--benchmark_out_format=json", "--benchmark_out=" + files[at]},
                      .output = "/dev/null",
                      .errors = log};
      if (run_command(run) == 0) continue;
      throw InfrastructureError(
          fmt::format("{} failed in {}; see {}", program.string(), sides[at].tree.string(), log.string()));
    }
    results.emplace_back(files[0], files[1]);
  }
  return results;
}

}  // namespace

std::optional<std::string> commit_of(const fs::path& root, const std::string& text) {
  if (text == kWorkingTree || text == "WORKTREE") return kWorkingTree;
  return output_of(git(root, {"rev-parse", "--verify", "--quiet", "--end-of-options", text + "^{commit}"}));
}

RevisionReports report_revisions(const ThisBuild& build, const RevisionArguments& arguments) {
  const fs::path folder = build.root / "build/compare";
  fs::create_directories(folder);
  const Descriptor locked = lock(folder / ".lock", arguments.say);
  std::array<Side, 2> sides = {Side{"BASE", &arguments.base, {}}, Side{"HEAD", &arguments.head, {}}};
  RevisionReports reports{.code = 0, .base = folder / "BASE.json", .head = folder / "HEAD.json", .rounds = {}};
  for (Side& side : sides) {
    const std::string& commit = side.revision->commit;
    arguments.say(fmt::format("{} {} ({}): building and reporting", side.name, printable(side.revision->text), commit));
    side.tree = commit == kWorkingTree ? build.root : checkout(build.root, commit);
    reports.code = make_report(side, arguments, build.root, side.name == "BASE" ? reports.base : reports.head);
    if (reports.code != 0) return reports;
  }
  if (arguments.rounds > 0) reports.rounds = measure(sides, build, arguments);
  return reports;
}

}  // namespace flashproof::compare
