// A report.json from anywhere.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace flashproof {

/// The document in `path`. Throws as read_json() does, and UsageError for another schema than flashproof.report/5.
nlohmann::json read_report_file(const std::filesystem::path& path);

}  // namespace flashproof
