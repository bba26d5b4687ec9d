#include "reports/diagnose/cause/call_causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "properties/laws/support/compare.h"
#include "properties/laws/support/compare_backward.h"
#include "reference/error/error_stats.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// A kernel that errs in every second call is seen at once. One that errs by chance, half of the time, is missed in one failing case of 16.
constexpr int kCalls = 4;
/// As the first call of a new process it has to be right as often as this, so that it is no chance.
constexpr int kNewProcesses = 2;
/// A new process loads the library again, and a GPU's starts its driver: where so many cases come out wrong and none right, it is no state.
constexpr int kMostWrongAlone = 3;

/// Kernels of this project keep nothing between calls, and of one that was stopped that is the cause.
bool can_be_asked(const Observation& seen) { return seen.kernel().foreign && seen.error().empty(); }

/// Nothing: it was stopped, or refused what it had taken, of which other causes tell.
std::optional<Output> called(const Observation& seen, bool in_new_process) {
  try {
    return seen.run_again(in_new_process);
  } catch (const UsageError&) {
  } catch (const simt::Fault&) {
  } catch (const KernelFault&) {
  }
  return std::nullopt;
}

bool same_bits(const Observation& seen, const Output& output) {
  return seen.kernel().problem == ProblemKind::backward ? first_gradient_difference(seen.output(), output).empty()
                                                        : first_difference(seen.output(), output).empty();
}

/// Of outputs whose bits differ: by more than two calls may be apart, which is both bounds of a kernel that does not declare itself
/// deterministic.
bool other_numbers(const Observation& seen, const Output& output) {
  if (seen.kernel().contract.deterministic) return true;
  for (const Part part : seen.parts()) {
    if (!returned(seen.kernel().contract, part)) continue;
    for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i) {
      const Element a = element_at(seen.output(), seen.truth(), seen.bound(), part, i);
      const Element b = element_at(output, seen.truth(), seen.bound(), part, i);
      if (class_of(a.computed) != class_of(b.computed)) return true;
      if (class_of(a.computed) != kFinite) continue;
      if (std::fabs(a.computed - b.computed) > 2 * bound_with_rounding(a.format, a.truth, a.bound)) return true;
    }
  }
  return false;
}

Again in_this_process(const Observation& seen) {
  Again how = Again::same;
  for (int n = 0; n < kCalls; ++n) {
    const auto output = called(seen, false);
    if (!output) return Again::same;
    if (same_bits(seen, *output)) continue;
    if (seen.failed() != seen.fails(*output)) return Again::right;
    if (seen.failed() && other_numbers(seen, *output)) how = Again::numbers;
  }
  return how;
}

bool is_right_alone(const Observation& seen) {
  for (int n = 0; n < kNewProcesses; ++n) {
    const auto output = called(seen, true);
    if (!output || seen.fails(*output)) return false;
  }
  return true;
}

}  // namespace

void call_again(Looked& looked) {
  for (const Observation& seen : looked.failing) {
    looked.again.push_back(can_be_asked(seen) ? in_this_process(seen) : Again::same);
  }
  for (std::size_t i = 0; i < looked.unshown; ++i) {
    const Observation& seen = looked.passing[i];
    if (can_be_asked(seen) && in_this_process(seen) == Again::right) looked.unshown_fail.push_back(&seen);
  }
  int wrong = 0, right = 0;
  for (std::size_t i = 0; i < looked.again.size() && (right > 0 || wrong < kMostWrongAlone); ++i) {
    const Observation& seen = looked.failing[i];
    if (!can_be_asked(seen) || looked.again[i] != Again::same) continue;
    const bool alone = is_right_alone(seen);
    if (alone) looked.again[i] = Again::right_alone;
    ++(alone ? right : wrong);
  }
}

std::vector<Cause> by_calls(const Looked& looked, Again how, std::vector<bool>& open) {
  static constexpr std::array<std::string_view, 4> kIds = {"", "calls.numbers", "calls.right", "calls.right_alone"};
  static constexpr std::array<std::string_view, 4> kSentences = {
      "", "it differs from call to call: the same call, made again, gives other numbers",
      "it differs from call to call: of calls with the same arguments some fail and some are right",
      "what was called before changes the result: as the first call of a new process the same call is right"};
  const auto at = static_cast<std::size_t>(how);
  Cause cause{.id = std::string(kIds[at]), .sentence = std::string(kSentences[at]), .confident = true};
  if (how == Again::right && !looked.unshown_fail.empty()) {
    cause.witness = to_string(looked.unshown_fail.front()->subject().spec);
    cause.cases = looked.unshown_fail.size();
  }
  for (std::size_t i = open.size(); i-- > 0;) {
    if (!open[i] || looked.again[i] != how) continue;
    cause.witness = to_string(looked.failing[i].subject().spec);
    cause.elements += looked.failing[i].failing();
    ++cause.cases;
    open[i] = false;
  }
  return cause.cases == 0 ? std::vector<Cause>{} : std::vector{std::move(cause)};
}

}  // namespace flashproof
