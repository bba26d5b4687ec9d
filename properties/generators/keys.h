// The keys of a CaseSpec: which exist for a problem, their types and ranges. What depends on several keys at once
// (products, hk divides hq, enough chunks for the family) is checked where the shape is drawn, in shape.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/problem/case.h"

namespace flashproof {

struct KeyInfo {
  enum class Kind : std::uint8_t { integer, number, choice, choice_or_index };
  std::string_view name;
  Kind kind;
  std::int64_t lo = 0, hi = 0;  // integer
  std::span<const std::string_view> choices = {};
};

/// No tensor of a generated case has more elements than this, so that a typo cannot ask for gigabytes. More rows than 16 bits count have
/// 128 columns each.
constexpr std::int64_t kMaxCaseElements = std::int64_t{1} << 24;

std::span<const KeyInfo> keys_of(ProblemKind problem);

/// Every key of the spec has a known name, the right type and lies in its own range. Throws UsageError.
void check_keys(const CaseSpec& spec);

// Readers, nullopt where the key is absent. The spec has passed check_keys.
std::optional<std::int64_t> integer_key(const CaseSpec& spec, std::string_view name);
std::optional<double> number_key(const CaseSpec& spec, std::string_view name);
std::optional<std::string> text_key(const CaseSpec& spec, std::string_view name);

/// "a, b or c".
std::string join(std::span<const std::string_view> names, std::string_view last_separator);

}  // namespace flashproof
