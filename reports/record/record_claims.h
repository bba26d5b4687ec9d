// What a record of report.json says more than once: its verdict follows from its counts and its power, its elements are those of
// its figures. Every reader of a report checks here that they agree.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "reference/error/power.h"
#include "reference/error/verdict.h"
#include "reports/record/json_at.h"

namespace flashproof {

/// Of the report.json that this build writes.
inline constexpr std::string_view kReportSchema = "flashproof.report/6";
/// Of what `render --json` writes, and of every report.json of before; read, too.
inline constexpr std::string_view kSpelledOutSchema = "flashproof.report/5";

using KindCounts = std::array<std::uint64_t, kVerdictKinds>;  // by VerdictKind
using FailureCounts = std::array<std::uint64_t, kFailures>;   // by Failure

/// Of cases counted by their verdicts: verdict.h's combine(), unsupported if there is none; a pass of too little power is
/// undecided, with the reason. What makes a record's verdict, and what a record that is read is held against.
Verdict verdict_of(const KindCounts& by_case, const Power& power);

/// 0 where it is left out.
std::uint64_t count_in(const JsonAt& at, std::string_view key);
KindCounts read_kinds(const JsonAt& at);
FailureCounts read_failures(const JsonAt& at);
Power read_power(const JsonAt& at);
/// What to_string() writes.
Verdict read_verdict(const JsonAt& at);

/// The records of a report that is spelled out. Throws UsageError, one line that names the file, the record and what in it
/// contradicts what, or as JsonAt does.
void check_records(const nlohmann::json& document, const std::string& file);

}  // namespace flashproof
