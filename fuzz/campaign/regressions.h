// What of campaigns goes into the source tree: worst cases as lines that a property test replays, and single cases as seeds.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace flashproof {

/// Writes `to` (properties/regressions/elites.txt): of every kernel, format and term the worst case of the campaigns in
/// these folders and of the file as it was. Prints how many lines there are. Throws UsageError for a folder without a
/// campaign or of other tables, and for a file that holds something else; InfrastructureError.
void write_regressions(std::span<const std::filesystem::path> campaigns, const std::filesystem::path& to);

/// Adds cases to the seed corpora in `corpus`: a recipe, or the recipe of a witness that still is what the recipe makes,
/// as a line of TARGET.txt; any other as an input in TARGET/. Prints which. Throws UsageError for what is neither a case nor a
/// witness, or too large for an input; InfrastructureError.
void add_seeds(std::span<const std::string> cases, const std::filesystem::path& corpus);

}  // namespace flashproof
