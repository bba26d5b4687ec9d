// A report.json from anywhere.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace flashproof {

/// The document in `path`. Throws as read_json() does, UsageError for another schema than flashproof.report/5, and as
/// check_records() (record_claims.h).
nlohmann::json read_report_file(const std::filesystem::path& path);

}  // namespace flashproof
