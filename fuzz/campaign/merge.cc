#include <fmt/format.h>

#include <algorithm>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/numbers.h"
#include "fuzz/campaign/union.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

struct Input {
  CampaignFolder folder;
  Description description;
};

Input open_input(const fs::path& path, const fs::path& out) {
  std::error_code error;
  if (fs::equivalent(path, out, error)) throw UsageError(fmt::format("{}: is OUT itself", shown(path)));
  const CampaignFolder folder{path};
  auto description = read_description(folder);
  if (!description || !fs::is_regular_file(folder.archive(), error)) {
    throw UsageError(fmt::format("{}: no campaign is there (it has no fuzz.json or no archive.sqlite)", shown(path)));
  }
  return {folder, std::move(*description)};
}

void join(std::vector<Listed>& all, const std::vector<Listed>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

void merge_campaigns(const fs::path& out, const std::vector<fs::path>& in) {
  std::vector<Input> inputs;
  inputs.reserve(in.size());
  for (const fs::path& path : in) inputs.push_back(open_input(path, out));  // every one, before anything is written
  const std::string target = inputs.front().description.target;
  const CampaignFolder folder{out};
  auto description = read_description(folder).value_or(
      Description{target, 0, "finished", inputs.front().description.program, {}, inputs.front().description.tables});
  for (const Input& input : inputs) {
    if (input.description.target != description.target) {
      throw UsageError(fmt::format("{}: holds a campaign of target {}, not {} as the others do",
                                   shown(input.folder.root), quote(input.description.target),
                                   quote(description.target)));
    }
    join(description.listed, input.description.listed);
  }
  make_folder(folder);
  const CampaignLock lock(folder);
  Archive archive(folder.archive(), Archive::Open::create);
  for (const Input& input : inputs) {
    const Archive from(input.folder.archive(), Archive::Open::read_only);
    if (input.description.tables != description.tables) {
      archive.merge(from, Archive::Take::witnessed);
      fmt::print("{}: its inputs are of other tables ({}): only its findings with a witness are taken\n",
                 shown(input.folder.root), quote(input.description.tables));
      continue;
    }
    archive.merge(from);
    copy_suspects(input.folder, folder, longest_input(target));
    const Copied copied = copy_corpus(input.folder, folder, longest_input(target));
    fmt::print("{}: {} inputs added, {} known, {} unfit\n", shown(input.folder.root), copied.added, copied.known,
               copied.unfit);
  }
  description.state = "finished";
  write_description(folder, description);
  const auto findings = archive.findings();
  write_findings(findings, folder);
  fmt::print("\n{}", numbers_table(archive.summary()));
  if (!findings.empty()) fmt::print("\n{}", findings_text(findings, folder, description));
  fmt::print("{}", suspects_text(folder, target));
}

void show_campaign(const fs::path& path) {
  const CampaignFolder folder{path};
  const auto description = read_description(folder);
  if (!description) throw UsageError(fmt::format("{}: no campaign is there (it has no fuzz.json)", shown(path)));
  const auto pid = driver_of(folder);
  std::string state = description->state;
  if (pid)
    state = fmt::format("running (pid {})", *pid);
  else if (state == "running")
    state = "killed; the same command goes on from what it had saved";
  fmt::print("fuzz {}: {}: {}; {} corpus files, {} rejected\n", description->target, shown(path), state,
             grouped(count_files(folder.corpus())), grouped(count_files(folder.rejected())));
  std::error_code error;
  if (!fs::is_regular_file(folder.archive(), error)) {
    fmt::print("no archive yet\n");
    return;
  }
  const Archive archive(folder.archive(), Archive::Open::read_only);
  const auto findings = archive.findings();
  fmt::print("\n{}", numbers_table(archive.summary()));
  if (!findings.empty()) fmt::print("\n{}", findings_text(findings, folder, *description));
  fmt::print("{}", suspects_text(folder, description->target));
}

}  // namespace flashproof
