#include "reports/diagnose/cause/law_causes.h"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/law.h"
#include "reference/error/error_stats.h"
#include "reference/system/error.h"
#include "reports/diagnose/hypotheses/hypothesis_causes.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// In the order of asking: what says most about the mistake first.
constexpr struct {
  std::string_view law, sentence;
  bool of_right_numbers = false;  // asked only where no case fails: a kernel that is wrong fails it for being wrong
  bool of_near_numbers = false;   // or where all that fail are near
} kAsked[] = {
    {"red_zones_untouched", "it writes beside its outputs"},
    {"no_race", "threads race: one reads or writes what another may be writing, with nothing that orders them"},
    {"schedule_invariance_is_bitwise",
     "the result depends on the order in which threads run: a barrier or a wait is missing"},
    {"rerun_is_bitwise",
     "a second run gives other bits: it reads what it has not written, or what an earlier call left behind"},
    {"offsets_beyond_int32", "an offset is formed in 32 bits: elements beyond 2^31 or 2^32 are not found"},
    {"unused_storage_is_isolated", "storage that belongs to no key reaches the output", true},
    {"hidden_nan_is_isolated", "NaN or infinity in k or v of a hidden key reaches the output", true},
    {"visible_nan_is_not_laundered", "NaN that a row sees does not reach its output", true},
    {"batch_invariance_is_bitwise", "a row alone has other bits than the same row among others", true},
    {"signed_bias_within_limit", "errors have one sign: something is cut off, not rounded", true, true},
    {"ones_in_ones_out", "weights do not add up to 1: where every v is 1, o is not", true},
};

/// Is every failing element a number, and none further off than a few of its bounds?
bool near(std::span<const Observation* const> failing) {
  constexpr double kNear = 4;
  for (const Observation* one : failing) {
    const Observation& seen = *one;
    if (!seen.error().empty()) return false;
    for (const Part part : seen.parts())
      for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i) {
        if (seen.kind(part, i) != VerdictKind::fail) continue;
        const Element e = element_at(seen.output(), seen.truth(), seen.bound(), part, i);
        const double error = std::fabs(signed_error(e.computed, e.truth));
        if (seen.symptom(part, i) != Symptom::number ||
            !(error <= kNear * bound_with_rounding(e.format, e.truth, e.bound)))
          return false;
      }
  }
  return true;
}

/// How many of the cases fail the law; the smallest of them is the witness.
Cause cause_of(const Kernel& kernel, const Law& law, std::span<const Observation* const> cases, Executor executor) {
  RunOptions options;
  options.executor = executor;
  Cause cause;
  for (const Observation* seen : cases) {
    if (!seen->error().empty()) continue;
    Trial trial(kernel, seen->subject(), nullptr, options);
    const Verdict verdict = ask(law, trial);
    if (!verdict.failed() || cause.cases++ > 0) continue;
    cause.witness = to_string(seen->subject().spec);
    cause.condition = fmt::format("shown by the law {}: {}", law.name, one_line(verdict.detail));
  }
  return cause;
}

}  // namespace

std::vector<Cause> by_laws(const Kernel& kernel, std::span<const Observation* const> failing,
                           std::span<const Observation* const> unshown, Executor executor) {
  std::vector<const Observation*> cases(failing.begin(), failing.end());
  cases.insert(cases.end(), unshown.begin(), unshown.end());
  std::vector<Cause> causes;
  for (const auto& asked : kAsked) {
    const Law* law = find_law(asked.law);
    if (law == nullptr || !law->is_of(kernel.problem) ||
        (asked.of_right_numbers && !failing.empty() && !(asked.of_near_numbers && near(failing))))
      continue;
    Cause cause = cause_of(kernel, *law, cases, executor);
    if (cause.cases == 0) continue;
    cause.id = fmt::format("law.{}", asked.law);
    cause.sentence = asked.sentence;
    cause.failing_cases = cases.size();
    cause.confident = static_cast<double>(cause.cases) >= kConfidentShare * static_cast<double>(cases.size());
    if (cause.confident) return {std::move(cause)};
    if (causes.empty()) causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace flashproof
