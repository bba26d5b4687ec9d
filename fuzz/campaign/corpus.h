// The inputs of a campaign. A worker sees only plain files of a bounded size: what else lies in a corpus is moved aside,
// once, by the driver, so that no engine stumbles over it, and it stays countable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "fuzz/campaign/content.h"
#include "fuzz/campaign/folder.h"

namespace flashproof {

/// The longest input of a target, in bytes, as fuzz/input/codec.h has it: the engine's -max_len, and what a corpus file may
/// have. The driver knows no other limit.
std::size_t longest_input(const std::string& target);

/// Makes corpus/SUBJECT. If it was not there: copies the seeds into it, those in `seeds` for every subject and those in
/// seeds/SUBJECT for this one; no `seeds` folder is none. Then `more` may write others into the folder. Throws
/// InfrastructureError.
void seed_corpus(const CampaignFolder& folder, const std::string& subject, const std::filesystem::path& seeds,
                 std::size_t longest, const std::function<void(const std::filesystem::path&)>& more);

/// Moves what is no readable plain file of at most `longest` bytes from corpus/SUBJECT to corpus_rejected/SUBJECT. Returns
/// how many. Throws InfrastructureError if one can be neither read nor moved.
std::uint64_t reject_unfit(const CampaignFolder& folder, const std::string& subject, std::size_t longest);

/// Moves the corpus file with these bytes there, if any: a worker that it ends would end at every start.
bool reject_input(const CampaignFolder& folder, const std::string& subject, const Bytes& input);

/// Copies every fit input of another campaign's corpus that ours does not have, under the name of its content.
struct Copied {
  std::uint64_t added = 0, known = 0, unfit = 0;
};
Copied copy_corpus(const CampaignFolder& from, const CampaignFolder& to, std::size_t longest);

/// Copies the suspects of another campaign, and launches that failed, unless ours has them. Not of a campaign at work: what
/// it tries alone it removes.
void copy_suspects(const CampaignFolder& from, const CampaignFolder& to, std::size_t longest);
/// What waits in suspects/ and what to do about it, a line; nothing if nothing does.
std::string suspects_text(const CampaignFolder& folder, const std::string& target);

/// Files in corpus/ or corpus_rejected/, over all subjects.
std::uint64_t count_files(const std::filesystem::path& folder);

}  // namespace flashproof
