#include "reports/faults/diagnosis.h"

#include <algorithm>
#include <array>
#include <string>

#include "properties/laws/law.h"
#include "properties/laws/teeth_cases.h"

namespace flashproof {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// The same symptom, and all traits of `wanted` among those of `id`: a second trait makes a condition narrower, not another one.
bool names(std::string_view id, std::string_view wanted) {
  if (id == wanted) return true;
  const std::size_t colon = id.find(':');
  if (colon == std::string_view::npos || wanted.substr(0, colon + 1) != id.substr(0, colon + 1)) return false;
  const auto traits = split(id.substr(colon + 1), '+');
  return std::ranges::all_of(split(wanted.substr(colon + 1), '+'),
                             [&](std::string_view trait) { return std::ranges::find(traits, trait) != traits.end(); });
}

/// Does `id` name what one of the words of `list` says?
bool is_among(std::string_view id, std::string_view list) {
  return std::ranges::any_of(split(list, ' '), [&](std::string_view wanted) { return names(id, wanted); });
}

}  // namespace

std::string_view name(Named named) {
  static constexpr std::array<std::string_view, 3> kNames = {"nothing", "rightly", "wrongly"};
  return kNames[static_cast<std::size_t>(named)];
}

Named named_by(const SeededFault& fault, const std::vector<Cause>& causes) {
  Named named = Named::nothing;
  for (const Cause& cause : causes) {
    if (!cause.confident) continue;
    const bool right = is_among(cause.id, fault.cause) ||
                       std::ranges::any_of(cause.others, [&](const auto& id) { return is_among(id, fault.cause); });
    if (!right) return Named::wrongly;
    named = Named::rightly;
  }
  return named;
}

std::vector<Cause> diagnose_fault(const SeededFault& fault) {
  const Kernel& kernel = *find_kernel(fault.id);
  std::vector<CaseSpec> failing, passing;
  for (TeethCase& c : teeth_cases(kernel.problem)) {
    if (!takes(kernel, c.content.problem)) continue;
    Trial trial(kernel, c.content, &c.truth);
    bool failed = false, passed = false;
    for (const Law& law : judging_laws()) {
      const FaultVerdicts verdicts = ask_fault(kernel, law, c, trial);
      failed |= verdicts.rejects();
      passed |= verdicts.fault.kind == VerdictKind::pass;
    }
    if (failed) failing.push_back(c.content.spec);
    if (!failed && passed) passing.push_back(c.content.spec);
  }
  return diagnose(kernel, failing, passing, Executor::cpu);
}

}  // namespace flashproof
