// A campaign's folder: where its files are, who may work in it, and what fuzz.json says of it.
//
//   archive.sqlite            elites, findings, runs
//   fuzz.json                 target, subjects, tables that the inputs are of, how it was started
//   corpus/KERNEL.FORMAT/     inputs, one file each; corpus_rejected/ has those that no worker may see
//   artifacts/                inputs that ended a worker, as it left them; *-climbing: what a local search is trying now
//   suspects/KERNEL.FORMAT/   on a GPU: inputs of a launch that lost the context, until each has run alone
//   suspects/KERNEL.FORMAT.launch/HASH/  all inputs of a launch that failed together, one of which has the finding "batch:"
//   findings/                 KEY.safetensors: minimised witnesses; KEY.input: inputs of findings that have none
//   log/                      worker-N.log: what the worker of this slot prints; KERNEL.FORMAT.WHAT.log: the last lines of one that crashed
//   lock                      held by the driver that works here, and names its pid
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/campaign/subjects.h"
#include "reference/system/descriptor.h"

namespace flashproof {

struct CampaignFolder {
  std::filesystem::path root;

  std::filesystem::path archive() const { return root / "archive.sqlite"; }
  std::filesystem::path description() const { return root / "fuzz.json"; }
  std::filesystem::path corpus() const { return root / "corpus"; }
  std::filesystem::path rejected() const { return root / "corpus_rejected"; }
  std::filesystem::path artifacts() const { return root / "artifacts"; }
  std::filesystem::path suspects() const { return root / "suspects"; }
  std::filesystem::path findings() const { return root / "findings"; }
  std::filesystem::path log() const { return root / "log"; }
  std::filesystem::path lock() const { return root / "lock"; }
};

/// What fuzz.json holds.
struct Description {
  std::string target;
  std::uint64_t starts = 0;    // how often a driver began here
  std::string state;           // "running", "finished", "interrupted", "failed"; a killed driver leaves "running"
  std::string program;         // the target, for replay lines
  std::vector<Listed> listed;  // all that the target takes, whatever was chosen
  std::string tables;  // TargetList::tables: inputs kept here stand for the same cases only with a target of these
};

/// Nothing if there is no fuzz.json. Throws UsageError (one line, the file's name) for one that is damaged.
std::optional<Description> read_description(const CampaignFolder& folder);
/// Throws InfrastructureError.
void write_description(const CampaignFolder& folder, const Description& description);

/// Makes the folder and its parts. Throws UsageError if a part is no folder, InfrastructureError if the machine refuses.
void make_folder(const CampaignFolder& folder);

/// The right to write in a campaign's folder. It goes with the process, however that ends.
class CampaignLock {
 public:
  /// Throws UsageError naming the pid of the process that works there.
  explicit CampaignLock(const CampaignFolder& folder);

 private:
  Descriptor file_;
};

/// The pid of the driver that works there now, as it says; 0 if it does not say.
std::optional<long> driver_of(const CampaignFolder& folder);

}  // namespace flashproof
