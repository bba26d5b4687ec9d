// Campaigns put together and taken out: merge, export.
#pragma once

#include <filesystem>
#include <vector>

namespace flashproof {

/// Makes OUT the union of itself and every IN: archives, corpora, witnesses. Doing it again changes nothing. Prints a line per
/// IN and the table on stdout. An IN whose inputs are of other tables than OUT's (Description::tables; of a new OUT the first
/// IN's) gives only its findings that have a witness. Throws UsageError for a folder that is no campaign, of another target, or OUT itself;
/// InfrastructureError.
void merge_campaigns(const std::filesystem::path& out, const std::vector<std::filesystem::path>& in);

/// Writes the inputs of elites and findings to DIR/KERNEL.FORMAT/CONTENT, findings' witnesses beside them, and
/// DIR/index.json: sorted, without times, so that the same archive gives the same files. Removes what an earlier index.json in
/// DIR names and this one does not. Throws UsageError, InfrastructureError.
void export_campaign(const std::filesystem::path& from, const std::filesystem::path& to);

/// How campaigns stand, running or not: lines and table on stdout. Throws UsageError for a folder that is no campaign.
void show_campaign(const std::filesystem::path& folder);

}  // namespace flashproof
