#include "reference/problem/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxValue = 256;

bool is_value(std::string_view text) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.+/-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxValue && std::all_of(text.begin(), text.end(), legal);
}

/// Cuts the text before the first `mark` off and returns it; the rest, without the mark, or nothing, stays in `text`.
std::string_view take(std::optional<std::string_view>& text, char mark) {
  const std::size_t end = text->find(mark);
  const std::string_view head = text->substr(0, end);
  if (end == std::string_view::npos) {
    text.reset();
  } else {
    text = text->substr(end + 1);
  }
  return head;
}

ProblemKind parse_kind(std::string_view text) {
  for (const ProblemKind kind : kProblemKinds) {
    if (text == name(kind)) return kind;
  }
  throw UsageError(
      fmt::format("case: problem {} must be softmax, merge, attention or attention_backward", quote(text)));
}

}  // namespace

CaseSpec parse_case_spec(std::string_view line) {
  if (line.size() > kMaxLine) {
    throw UsageError(fmt::format("case: {} characters, must be at most {}", line.size(), kMaxLine));
  }
  CaseSpec spec;
  std::optional<std::string_view> rest = line;
  spec.problem = parse_kind(take(rest, ':'));
  if (!rest) throw UsageError("case: no family, must be problem:family:seed[:key=value,...]");
  spec.family = take(rest, ':');
  if (!is_name(spec.family)) {
    throw UsageError(fmt::format("case: family {} must be [a-z][a-z0-9_]*, at most 64 characters", quote(spec.family)));
  }
  if (!rest) throw UsageError("case: no seed, must be problem:family:seed[:key=value,...]");
  const std::string_view seed_text = take(rest, ':');
  const auto seed = parse_u64(seed_text);
  if (!seed) throw UsageError(fmt::format("case: seed {} must be an integer 0..2^64-1", quote(seed_text)));
  spec.seed = *seed;

  while (rest) {
    std::optional<std::string_view> pair = take(rest, ',');
    const std::string_view key = take(pair, '=');
    if (!is_name(key)) {
      throw UsageError(fmt::format("case: key {} must be [a-z][a-z0-9_]*, at most 64 characters", quote(key)));
    }
    if (!pair || !is_value(*pair)) {
      throw UsageError(fmt::format("case: {} = {} must have a value of 1..{} characters of [A-Za-z0-9_.+/-]", key,
                                   quote(pair.value_or("")), kMaxValue));
    }
    if (!spec.keys.emplace(key, *pair).second) throw UsageError(fmt::format("case: key {} is given twice", key));
  }
  return spec;
}

std::string to_string(const CaseSpec& spec) {
  std::string line = fmt::format("{}:{}:{}", name(spec.problem), spec.family, spec.seed);
  char mark = ':';
  for (const auto& [key, value] : spec.keys) {
    line += fmt::format("{}{}={}", mark, key, value);
    mark = ',';
  }
  return line;
}

}  // namespace flashproof
