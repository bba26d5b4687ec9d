// What a campaign's archive amounts to, and how that reads: the status line, the table, the findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/folder.h"

namespace flashproof {

/// A line per subject and a total; columns aligned, ends with a newline.
std::string numbers_table(const Summary& numbers);

/// "1,234,567".
std::string grouped(std::uint64_t number);

/// Whether a finding of this subject is one against us; a kernel that the list does not know counts.
bool against_us(const Subject& subject, const std::vector<Listed>& listed);

/// Per finding what it is, its case, its file in findings/ and the command that runs it again: `replay` of its witness, or
/// the target itself on an input that has none. Where nothing of it was kept, the log of its worker, if that is there.
std::string findings_text(const std::vector<Finding>& findings, const CampaignFolder& folder,
                          const Description& description);

/// Writes findings/NAME.safetensors for each that has a witness, findings/NAME.input for each other one that has an input;
/// what is there with these contents stays. Throws InfrastructureError.
void write_findings(const std::vector<Finding>& findings, const CampaignFolder& folder);

}  // namespace flashproof
