// The results as a CI reads them.
#pragma once

#include <span>
#include <string>

#include "properties/driver/property_run.h"

namespace flashproof {

/// As one word of a command line.
std::string shell_quoted(const std::string& text);
/// The command that runs this failure's case again; `program` is what calls this one, quoted for a shell.
std::string replay_line(const std::string& program, const PropertyResult& result);
/// Why it is a finding, or was skipped, in one line, without witness and replay line.
std::string finding_line(const PropertyResult& result);

std::string junit_text(std::span<const PropertyResult> results, const std::string& program);
std::string json_text(std::span<const PropertyResult> results, const PropertyOptions& options,
                      const std::string& program);

}  // namespace flashproof
