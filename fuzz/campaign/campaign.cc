#include "fuzz/campaign/campaign.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "fuzz/campaign/campaign_run.h"
#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/worker/worker_command.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

std::uint64_t free_bytes_of(const fs::path& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) {
    throw InfrastructureError(fmt::format("{}: {}", printable(path.string(), 4096), std::strerror(errno)));
  }
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

TargetList ask_for_list(const fs::path& program, const CampaignOptions& options) {
  constexpr double kListSeconds = 60;  // a GPU's driver takes its time
  const Answer answer = ask_target(list_command(program, options.executor), kListSeconds);
  const std::string said = last_line(answer.err);
  if (answer.timed_out) {
    throw InfrastructureError(
        fmt::format("--list of the target {}: no end within {} s", quote(options.target), kListSeconds));
  }
  if (WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 2) throw UsageError(said);
  if (answer.status != 0) {
    throw InfrastructureError(fmt::format("--list of the target {} {}{}{}", quote(options.target),
                                          describe_status(answer.status), said.empty() ? "" : ": ", said));
  }
  return parse_list(answer.out);
}

/// The target's case lines as inputs. A subject that takes none of them starts from nothing, which costs seconds, not the
/// campaign.
void write_seeds(const CampaignSetup& setup, const Listed& one, const fs::path& into) {
  const fs::path lines = setup.options.seeds / (setup.options.target + ".txt");
  std::error_code error;
  if (!fs::is_regular_file(lines, error)) return;
  constexpr double kSeedSeconds = 60;
  const Answer answer = ask_target(seeds_command(setup.program, setup.subject(one), lines, into), kSeedSeconds);
  if (!answer.timed_out && answer.status == 0) return;
  std::fprintf(stderr, "flashproof: no seeds for %s: %s\n", subject_text(setup.subject(one)).c_str(),
               answer.timed_out ? "they took too long" : last_line(answer.err).c_str());
}

std::uint64_t restarts(const Machine& machine) {
  const auto text = machine.environment("SLURM_RESTART_COUNT");
  return text ? parse_u64(*text).value_or(0) : 0;
}

std::vector<double> seconds_so_far(const Archive& archive, const CampaignSetup& setup) {
  std::vector<double> seconds(setup.subjects.size());
  for (const SubjectTotals& had : archive.summary().subjects) {
    const auto at = std::find_if(setup.subjects.begin(), setup.subjects.end(),
                                 [&](const Listed& one) { return setup.subject(one) == had.subject; });
    if (at != setup.subjects.end()) seconds[static_cast<std::size_t>(at - setup.subjects.begin())] += had.seconds;
  }
  return seconds;
}

}  // namespace

Machine this_machine() {
  return {free_bytes_of, stop_requested, [](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
          }};
}

void require_space(const Machine& machine, const CampaignFolder& folder) {
  const std::uint64_t free = machine.free_bytes(folder.root);
  if (free >= kLeastFreeBytes) return;
  throw InfrastructureError(
      fmt::format("{}: the disk is full: {} MiB free, a campaign needs {} MiB; what was found is kept",
                  printable(folder.root.string(), 4096), free >> 20U, kLeastFreeBytes >> 20U));
}

int run_campaign(const CampaignOptions& options, const Machine& machine) {
  CampaignSetup setup{options, machine, {}, {}, {}, 1, 0, {}, {}};
  setup.program = find_target(options.target, options.targets);
  const auto listed = ask_for_list(setup.program, options);
  const auto chosen = choose(listed.subjects, options.kernels, options.formats);
  setup.shard = options.shard ? *options.shard : shard_of(machine.environment).value_or(Shard{});
  for (const std::size_t i : shard_members(chosen.size(), setup.shard)) setup.subjects.push_back(chosen[i]);
  setup.jobs = static_cast<std::size_t>(options.jobs > 0            ? options.jobs
                                        : options.executor == "cpu" ? default_jobs()
                                                                    : 1);
  setup.restart = restarts(machine);
  setup.folder.root = options.out.empty() ? fs::path("out") / "fuzz" / options.target : options.out;

  make_folder(setup.folder);
  const CampaignLock lock(setup.folder);
  const auto before = read_description(setup.folder);
  if (before && before->target != options.target) {
    throw UsageError(fmt::format("--out {}: holds a campaign of target {}, not {}; choose another folder",
                                 quote(setup.folder.root.string()), quote(before->target), quote(options.target)));
  }
  if (before && before->tables != listed.tables) {
    throw UsageError(fmt::format(
        "--out {}: its inputs were made for other tables of the target ({}, now {}) and stand for other cases "
        "today; choose another --out, and take the findings over with: flashproof-fuzz merge NEW_OUT OLD_OUT",
        quote(setup.folder.root.string()), quote(before->tables), quote(listed.tables)));
  }
  remove_climbing_files(setup.folder.artifacts());
  require_space(machine, setup.folder);
  setup.description = {options.target,  before ? before->starts + 1 : 1,
                       "running",       setup.program.string(),
                       listed.subjects, listed.tables};
  Archive archive(setup.folder.archive(), Archive::Open::create);
  write_description(setup.folder, setup.description);
  const std::size_t longest = longest_input(options.target);
  for (const Listed& one : setup.subjects) {
    seed_corpus(setup.folder, subject_folder(one), options.seeds / options.target, longest,
                [&](const fs::path& into) { write_seeds(setup, one, into); });
  }
  set_worker_environment();

  CampaignRun run(setup, archive, turns(seconds_so_far(archive, setup)));
  return run.run();
}

}  // namespace flashproof
