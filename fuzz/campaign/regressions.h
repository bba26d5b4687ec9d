// What of campaigns goes into the source tree: worst cases as lines that a property test replays, and single cases as seeds.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fuzz/input/elite_line.h"

namespace flashproof {

/// A worst case of a campaign, and where it ran.
struct CampaignLine {
  EliteLine line;
  std::string executor;  // cpu or cuda
};
/// Of the campaign in this folder: of hardened kernels, single cases, within the bound. Throws UsageError for a folder without a
/// campaign or of other tables.
std::vector<CampaignLine> worst_lines(const std::filesystem::path& campaign);

/// Writes `to` (properties/regressions/elites.txt): of every kernel, format and term the worst case of the campaigns in
/// these folders and of the file as it was. Prints how many lines there are. Throws what worst_lines() throws, UsageError for
/// a file that holds something else, and InfrastructureError.
void write_regressions(std::span<const std::filesystem::path> campaigns, const std::filesystem::path& to);

/// Adds cases to the seed corpora in `corpus`: a recipe, or the recipe of a witness that still is what the recipe makes,
/// as a line of TARGET.txt; any other as an input in TARGET/. Prints which. Throws UsageError for what is neither a case nor a
/// witness, or too large for an input; InfrastructureError.
void add_seeds(std::span<const std::string> cases, const std::filesystem::path& corpus);

}  // namespace flashproof
