// Which documents this build reads.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace flashproof::html {

inline constexpr std::string_view kReportSchema = "flashproof.report/5";

/// Throws UsageError: not a report, or a report of another schema ("flashproof.report/4: this build reads flashproof.report/5").
void require_schema(const nlohmann::json& document);

}  // namespace flashproof::html
