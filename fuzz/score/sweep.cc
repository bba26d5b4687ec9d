#include "fuzz/score/sweep.h"

#include <limits>
#include <vector>

#include "fuzz/input/codec.h"
#include "fuzz/score/score.h"
#include "properties/generators/numbers.h"
#include "properties/laws/support/change.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// Half of the cases: where something leaves a range, or special values stand beside numbers.
constexpr std::string_view kHazards[] = {
    "huge",      "hidden_specials", "overflow_edge", "sum_overflow", "underflow_beside_huge",
    "subnormal", "special_values",  "descale",       "feature_mix",  "offset_rising"};
constexpr std::size_t kLongest = 128;
constexpr std::uint64_t kDraws = 100;  // at most, per case: most recipes contradict themselves
constexpr std::int64_t kSmall = 18;    // bytes of extents up to about as many

/// An input as an engine that knows nothing would make it; half of its keys are left to the family.
FuzzInput drawn(ProblemKind problem, std::uint64_t seed, std::uint64_t index) {
  Random random(seed, index);
  std::vector<std::uint8_t> bytes;
  const std::int64_t most =
      random.chance(0.9) ? kSmall : 254;  // else most cases would be more work than a fuzzer takes
  for (std::size_t i = 0; i < kLongest; ++i) {
    const bool header = i < 11;  // kernel, law, family and the seed of the case
    const bool empty = !header && random.chance(0.5);
    const std::int64_t byte = random.integer(0, header ? 254 : most);
    bytes.push_back(empty ? 0 : static_cast<std::uint8_t>(byte));
  }
  FuzzInput input = decode_input(problem, bytes);
  input.schedule.clear();
  input.origin.mutations.resize(random.chance(0.7) ? 0 : 2);
  if (random.chance(0.5)) input.origin.spec.family = std::string(pick(random, kHazards));
  return input;
}

/// The line to replay, and the changes if the case has some.
std::string line_of(const FuzzInput& input) {
  std::string line = to_string(input.origin.spec);
  if (!input.origin.mutations.empty()) line += " changed by " + to_text(input.origin.mutations);
  return line;
}

}  // namespace

std::string Sweep::text() const {
  std::string text = std::to_string(cases) + " cases, " + std::to_string(executions) + " executions, " +
                     std::to_string(symbolic) + " rows that special values decide, " + std::to_string(findings.size()) +
                     " findings\n";
  for (const auto& [key, first] : findings) text.append("  ").append(key).append("\n    ").append(first).append("\n");
  return text;
}

Sweep sweep(ProblemKind problem, std::uint64_t seed, std::uint64_t count, std::string_view only) {
  Sweep result;
  for (std::uint64_t index = 0; result.cases < count && index < kDraws * count; ++index) {
    const FuzzInput input = drawn(problem, seed, index);
    Case made;
    try {
      made = case_of(problem, input);
    } catch (const UsageError&) {  // no family draws such a shape
      continue;
    }
    if (products(made.problem) > kMostWork) continue;
    ++result.cases;
    CaseTruth truth(made);
    for (const Tier tier : truth.truth().tier) result.symbolic += tier == Tier::symbolic ? 1 : 0;
    for (const Kernel& kernel : kernels_of(problem)) {
      if (kernel.form != Form::hardened || kernel.id.find(only) == std::string_view::npos) continue;
      const Score found = score(kernel, made, {.truth = &truth, .most_rows = std::numeric_limits<std::size_t>::max()});
      result.executions += found.ran ? 1 : 0;
      if (!found.failed()) continue;
      result.findings.emplace(std::string(kernel.id) + " " + found.what,
                              line_of(input) + "\n    " + found.verdict.detail);
    }
  }
  return result;
}

}  // namespace flashproof
