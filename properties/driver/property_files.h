// The results as a CI reads them.
#pragma once

#include <span>
#include <string>

#include "properties/driver/property_run.h"

namespace flashproof {

/// The command that runs this failure's case again; `program` is what calls this one, quoted for a shell.
std::string replay_line(const std::string& program, const PropertyResult& result);
/// Why it is a finding, or was skipped, in one line, without witness and replay line.
std::string finding_line(const PropertyResult& result);

/// `whole`: what is wrong with the run of `kernel` as a whole; a case of its own fails by it where no result does.
std::string junit_text(std::span<const PropertyResult> results, const std::string& program,
                       std::string_view kernel = {}, const std::string& whole = {});
std::string json_text(std::span<const PropertyResult> results, const PropertyOptions& options,
                      const std::string& program);

}  // namespace flashproof
