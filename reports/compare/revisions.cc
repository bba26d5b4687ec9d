#include "reports/compare/revisions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/process.h"
#include "reference/system/text.h"
#include "reports/compare/changed_kernels.h"
#include "reports/compare/speed/revision_times.h"
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

/// The side's own launcher, with the launcher's options.
CommandLine launch(const Side& side, const RevisionArguments& arguments, const fs::path& output) {
  const fs::path launcher = side.tree / "flashproof";
  if (::access(launcher.c_str(), X_OK) != 0) {
    throw UsageError(side.text() + " has no ./flashproof: legal are revisions of flashproof");
  }
  CommandLine command{.words = {launcher.string()}, .output = output};
  command.words.insert(command.words.end(), arguments.launcher.begin(), arguments.launcher.end());
  // What both revisions compile alike comes from the compiler's cache, where there is one.
  command.environment = {
      {"CCACHE_BASEDIR", side.tree.string()}, {"CCACHE_NOHASHDIR", "1"}, {"FLASHPROOF_REVISION", std::nullopt}};
  forget_callers_git(command);
  return command;
}

[[noreturn]] void fail(const Side& side, std::string_view what, int code) {
  const std::string why = fmt::format("{}: its {} ended with exit code {}", side.text(), what, code);
  if (code == kExitUsage) throw UsageError(why);
  throw InfrastructureError(why);
}

/// The program, by a question that needs nothing else of it.
void build_program(const Side& side, const RevisionArguments& arguments) {
  CommandLine command = launch(side, arguments, "/dev/null");
  command.words.insert(command.words.end(), {"list", "kernels", "--json"});
  if (const int code = run_command(command); code != kExitFine) fail(side, "build", code);
}

/// Returns an exit code; 0: the report is at `to`.
int make_report(const Side& side, const RevisionArguments& arguments, const std::vector<std::string>& kernels,
                const fs::path& root, const fs::path& to) {
  const bool own = side.tree == root;
  const fs::path out = own ? root / "build/compare/worktree" : side.tree / "build/compare-report";
  fs::remove_all(out);
  fs::create_directories(out);
  CommandLine command = launch(side, arguments, out / "report.txt");
  const auto add = [&](const std::vector<std::string>& words) {
    command.words.insert(command.words.end(), words.begin(), words.end());
  };
  add({"report"});
  add(arguments.report);
  for (const std::string& kernel : kernels) add({"--kernel=" + kernel});
  add({"--out", out.string()});
  const int code = run_command(command);
  if (code != kExitFine && code != kExitFinding && code != kExitSkipped) fail(side, "report", code);
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

/// Which kernels to run, and why only those: what the two sides compile alike computes the same. None: those that were asked for.
std::optional<ChangedKernels> kernels_to_run(const std::array<Side, 2>& sides, const ThisBuild& build,
                                             const RevisionArguments& arguments) {
  if (arguments.every_kernel) return std::nullopt;
  const auto folder = [&](const Side& side) { return side.tree / "build" / build.preset(); };
  return changed_kernels(folder(sides[0]), folder(sides[1]));
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
  RevisionReports reports{
      .code = 0, .changed = {}, .base = folder / "BASE.json", .head = folder / "HEAD.json", .rounds = {}};
  for (Side& side : sides) {
    const std::string& commit = side.revision->commit;
    arguments.say(fmt::format("{} {} ({}): building", side.name, printable(side.revision->text), commit));
    side.tree = commit == kWorkingTree ? build.root : checkout(build.root, commit);
    build_program(side, arguments);
  }
  reports.changed = kernels_to_run(sides, build, arguments);
  for (const Side& side : sides) {
    if (reports.same_program()) break;
    arguments.say(fmt::format(
        "{}: reporting{}", side.name,
        reports.changed ? fmt::format(" {} of {} kernels", reports.changed->ids.size(), reports.changed->of) : ""));
    reports.code = make_report(side, arguments, reports.changed ? reports.changed->ids : std::vector<std::string>(),
                               build.root, side.name == "BASE" ? reports.base : reports.head);
    if (reports.code != 0) return reports;
  }
  if (arguments.rounds > 0) {
    reports.rounds = time_revisions({sides[0].tree, sides[1].tree}, build,
                                    {arguments.rounds, arguments.benchmark_filter, arguments.say});
  }
  return reports;
}

}  // namespace flashproof::compare
