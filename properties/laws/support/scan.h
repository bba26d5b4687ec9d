// What laws that read the judgement share: counts over the parts of the output, and the element to show.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "properties/laws/law.h"

namespace flashproof {

/// Elements of all parts; of one that the output does not have there are none.
std::uint64_t element_count(const Judgement& judgement);
/// By verdict, and how many failed in one of these ways.
std::array<std::uint64_t, kVerdictKinds> verdict_counts(const Judgement& judgement);
std::uint64_t failure_count(const Judgement& judgement, std::span<const Failure> failures);

/// fail, with the most severe of `failures` that occurs, and of its elements the one with the largest error/bound.
/// Judges again, so call it only where failure_count() is not 0.
Verdict failing_element(const Evaluation& evaluation, std::span<const Failure> failures);

/// "<reason>: <the first element with this verdict>".
std::string detail_of_first(const Evaluation& evaluation, VerdictKind kind);

}  // namespace flashproof
