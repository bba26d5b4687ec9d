// Which documents this build reads.
#pragma once

#include <nlohmann/json.hpp>

namespace flashproof::html {

/// Throws UsageError: not a report, or a report of another schema ("flashproof.report/4: this build reads flashproof.report/5").
void require_schema(const nlohmann::json& document);

}  // namespace flashproof::html
