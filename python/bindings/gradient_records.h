// What a check of gradients keeps of every law and family, and what it says of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "python/bindings/statistics_json.h"
#include "reference/error/error_stats.h"
#include "reference/error/verdict.h"
#include "reference/problem/witness.h"

namespace flashproof::python {

/// The laws that a callable is asked, by name: an index of kGradientLaws.
enum GradientLawAsked : std::uint8_t { kWithin, kClass, kWritten, kRerun };
inline constexpr GradientLawAsked kJudging[] = {kWithin, kClass, kWritten};
inline constexpr const char* kGradientLaws[] = {"within_bound", "class_matches_semantics", "outputs_fully_written",
                                                "rerun_is_bitwise"};

struct GradientLawRecord {
  GradientLawAsked law{};
  std::array<std::uint64_t, kVerdictKinds> counts{};
  std::optional<Verdict> failure = {};
  std::string line = {}, witness = {}, shrunk = {}, replay = {};  // of the failure; replay: a command
  std::optional<Case> failing = {};                               // as it was drawn
  std::string skipped = {};  // why it was not asked of cases that the callable takes

  /// Cases in which the callable ran and the law was asked.
  std::uint64_t executed() const;
};

struct GradientFamily {
  std::string name, refused = {}, finding = {};
  std::array<std::uint64_t, kVerdictKinds> counts{};
  ErrorStats dq = {}, dk = {}, dv = {};

  ErrorStats& stats(Part part) { return part == Part::dq ? dq : part == Part::dk ? dk : dv; }
};

Json to_json(const GradientLawRecord& law);
Json to_json(const GradientFamily& family);
/// JUnit XML of a run: what is wrong with the run as a whole fails the first law that ran and found nothing, or a case of its
/// own where no law did; empty: it is a pass.
std::string gradient_junit(std::span<const GradientLawRecord> laws, const std::string& id, const std::string& whole);

}  // namespace flashproof::python
