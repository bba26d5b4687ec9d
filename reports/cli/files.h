// The files of a report: every command that has one writes the same.
#pragma once

#include <filesystem>
#include <string>

#include "reports/record/report.h"

namespace flashproof {

/// Throws as replaceable_file() does, before any work.
void require_report_files(const std::filesystem::path& out);
/// Each whole or not at all (atomic_file.h). Returns what was written: "out/report.json, out/report.md and out/junit.xml".
std::string write_report_files(const std::filesystem::path& out, const Report& report);

}  // namespace flashproof
